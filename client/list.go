package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// List goes through any list of the API, such as "/v1/rewards", page by page. It yields every
// item once, also while new ones arrive. After an error it ends.
func List[T any](ctx context.Context, c *Client, path string, q url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := path
		if len(q) > 0 {
			next += "?" + q.Encode()
		}
		for next != "" {
			items, after, err := getPage[T](ctx, c, next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			next = after
		}
	}
}

// getPage gets the page of a list at a path, and returns the path of the next one; "" after the last.
func getPage[T any](ctx context.Context, c *Client, path string) (items []T, next string, err error) {
	r, err := newRequest(http.MethodGet, path, nil)
	if err != nil {
		return nil, "", err
	}
	var page page[T]
	o, err := c.send(ctx, r, &page)
	if err != nil {
		return nil, "", err
	}
	for _, items = range page { // it has one member
	}
	next, err = nextPage(path, o.header)
	return items, next, err
}

var nextLink = regexp.MustCompile(`<([^>]*)>[^<]*;\s*rel="?next"?`)

// nextPage returns the path of the next page; "" on the last. The key never goes elsewhere.
func nextPage(current string, header http.Header) (string, error) {
	found := nextLink.FindStringSubmatch(strings.Join(header.Values("Link"), ","))
	if found == nil {
		return "", nil
	}
	here, err := url.Parse(current)
	if err != nil {
		return "", fmt.Errorf("cannot read the path %q: %w", current, err)
	}
	next, err := here.Parse(found[1])
	if err != nil || next.Host != "" || next.Scheme != "" {
		return "", fmt.Errorf("the next page %q is not at the service", found[1])
	}
	return next.RequestURI(), nil
}

// query makes a query of names and values in turn, without the empty values.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[len(pair)-1]; value != "" {
			q.Set(name, value)
		}
	}
	return q
}
