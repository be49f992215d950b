// Package prove proves that the audit finds damage: it plants damage of every kind,
// one after the other, in copies of books, and has the audit look. It promises that
// the books themselves are only read, and that the copies are gone afterwards. Read
// plant.go for what is planted and history.go for the built-in books, which the real
// store writes and in which every kind of row is.
package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"stockrewards/internal/audit"
	"stockrewards/internal/store/sqlite"
)

// Kind is what became of one kind of damage: that which one check finds.
type Kind struct {
	Check    string   `json:"check"`    // its name in the audit's report
	Planted  string   `json:"planted"`  // in words what was planted in the copy of the books; "" when nothing could be
	Found    bool     `json:"found"`    // everything that was planted, also in the built-in books
	Where    string   `json:"where"`    // the first finding, in the copy when something was planted there
	Next     string   `json:"next"`     // what to do about such a finding
	BuiltIn  int      `json:"builtIn"`  // how many variants were planted in the built-in books
	NotFound []string `json:"notFound"` // what was planted and not found
}

// Result is what a proof came to.
type Result struct {
	Kinds []Kind `json:"kinds"`
	Clean bool   `json:"clean"` // nothing was wrong in the copy before anything was planted
	Ended bool   `json:"ended"` // every kind was tried
}

// Found counts the kinds that were found.
func (r Result) Found() int {
	n := 0
	for _, k := range r.Kinds {
		if k.Found {
			n++
		}
	}
	return n
}

// OK tells whether all damage was found, in books that were sound before.
func (r Result) OK() bool { return r.Clean && r.Ended && r.Found() == len(r.Kinds) }

// Audit is the audit that is proven.
type Audit func(context.Context, audit.Queryer) (audit.Report, error)

// Run plants in a copy of the books in an SQLite file and in built-in books. The
// copies are in a folder for their owner only, in that for temporary files, and are
// removed also when ctx ends. Progress is told what is planted next. What was done
// until an error is in the result.
func Run(ctx context.Context, path string, look Audit, progress func(string)) (Result, error) {
	return run(ctx, look, progress, func(folder string) (books, error) {
		return loosen(ctx, path, filepath.Join(folder, "copy.db"))
	}, func(builtIn, folder string) (books, error) {
		return loosen(ctx, builtIn, filepath.Join(folder, "built-in-copy.db"))
	})
}

// RunPostgres is Run for books in the PostgreSQL database that the URL names. The
// copies are temporary tables in transactions of two connections, which are never
// committed: the server itself takes them away, whatever becomes of the caller. On
// this side the built-in books are in a file, until they are copied.
func RunPostgres(ctx context.Context, url string, look Audit, progress func(string)) (Result, error) {
	return run(ctx, look, progress, func(string) (books, error) {
		return shadow(ctx, url)
	}, func(builtIn, folder string) (books, error) {
		b, err := shadowOf(ctx, url, builtIn)
		return b, errors.Join(err, os.RemoveAll(folder)) // what a kill would leave behind
	})
}

// run proves with a copy of the books, and one of the built-in books in a file.
func run(ctx context.Context, look Audit, progress func(string),
	copyOwn func(folder string) (books, error), copyBuiltIn func(path, folder string) (books, error),
) (r Result, err error) {
	folder, err := os.MkdirTemp("", "stockrewards-prove-")
	if err != nil {
		return r, fmt.Errorf("prove: make a folder for the copy (TMPDIR says where): %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	progress("copying the books")
	own, err := copyOwn(folder)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	path := filepath.Join(folder, "built-in.db")
	world, err := writeBuiltIn(ctx, path)
	if err != nil {
		return r, err
	}
	builtIn, err := copyBuiltIn(path, folder)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, builtIn.close()) }()
	p := proof{look: look, progress: progress, own: own, builtIn: builtIn, world: world}
	return p.run(ctx)
}

// writeBuiltIn writes the history by the real store into a new SQLite file.
func writeBuiltIn(ctx context.Context, path string) (w *World, err error) {
	engine, err := sqlite.Open(ctx, path, sqlite.Options{Connections: 2})
	if err != nil {
		return nil, err
	}
	defer func() {
		thrown := recover()
		f, failed := thrown.(failure)
		if thrown != nil && !failed {
			panic(thrown)
		}
		if failed {
			err = fmt.Errorf("prove: write the built-in books: %w", f.error)
		}
		err = errors.Join(err, engine.Close())
	}()
	w = NewWorld(ctx, engine)
	w.History()
	return w, nil
}

// proof is one proof under way.
type proof struct {
	look         Audit
	progress     func(string)
	own, builtIn books
	world        *World
	before       map[string]int64 // the violations of the copy by check, before anything is planted
}

func (p *proof) run(ctx context.Context) (r Result, err error) {
	p.progress("auditing the copy before anything is planted")
	clean, err := p.look(ctx, p.own)
	if err != nil {
		return r, err
	}
	r.Clean = clean.OK()
	p.before = make(map[string]int64)
	for _, c := range clean.Checks {
		p.before[c.Name] = c.Violated
	}
	for i, c := range clean.Checks {
		p.progress(fmt.Sprintf("kind %d of %d: %s", i+1, len(clean.Checks), c.Name))
		k, err := p.kind(ctx, c)
		if err != nil {
			return r, err
		}
		r.Kinds = append(r.Kinds, k)
	}
	r.Ended = true
	return r, nil
}

// kind plants what one check must find.
func (p *proof) kind(ctx context.Context, c audit.CheckResult) (Kind, error) {
	k := Kind{Check: c.Name, Next: c.Next, NotFound: []string{}}
	for _, plant := range Plants() {
		if plant.Check != c.Name {
			continue
		}
		if k.Planted == "" && plant.Anywhere {
			planted, err := p.try(ctx, p.own, plant, p.before[c.Name], &k, "the copy")
			if err != nil {
				return k, err
			}
			if planted {
				k.Planted = plant.What
			}
		}
		planted, err := p.try(ctx, p.builtIn, plant, 0, &k, "the built-in books")
		if err != nil {
			return k, err
		}
		if planted {
			k.BuiltIn++
		} else {
			k.NotFound = append(k.NotFound, plant.What+" could not be planted in the built-in books")
		}
	}
	k.Found = k.BuiltIn > 0 && len(k.NotFound) == 0
	return k, nil
}

// try plants once and looks whether the check finds more than before.
func (p *proof) try(ctx context.Context, in books, plant Plant, before int64, k *Kind, where string) (bool, error) {
	statements := make([]string, len(plant.Statements))
	for i, s := range plant.Statements {
		var err error
		if statements[i], err = p.world.SQL(s); err != nil {
			return false, err
		}
	}
	return in.with(ctx, statements, func() error {
		report, err := p.look(ctx, in)
		if err != nil {
			return err
		}
		for _, c := range report.Checks {
			if c.Name != plant.Check {
				continue
			}
			if c.Violated > before && len(c.Violations) > 0 {
				if k.Where == "" {
					v := c.Violations[len(c.Violations)-1]
					k.Where = v.Row + ": " + v.Found + " instead of " + v.Expected
				}
				return nil
			}
		}
		k.NotFound = append(k.NotFound, plant.What+" in "+where)
		return nil
	})
}
