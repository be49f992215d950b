package main

import "context"

type migrateCommand struct{ databaseFlag }

// Run migrates the schema, or creates it in an empty database.
func (c *migrateCommand) Run(ctx context.Context) error {
	s, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	return said(s.Close(), "%s is up to date\n", withoutPassword(c.Database))
}
