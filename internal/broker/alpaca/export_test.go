package alpaca

// SetMaxPages lowers the bound on the pages of a list of orders.
func (c *Client) SetMaxPages(n int) { c.maxPages = n }
