package growth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL database under bulk load: COPY table by table, each in its own
// transaction.
type server struct {
	conn    *pgx.Conn
	indexes []string // the statements that build them again
	pending batch
}

var _ target = (*server)(nil)

func openPostgres(ctx context.Context, url string) (*server, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &server{conn: conn}
	for _, setting := range []string{
		`synchronous_commit = off`, `statement_timeout = 0`, `maintenance_work_mem = '1GB'`,
	} {
		if err := s.exec(ctx, `SET `+setting); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *server) column(ctx context.Context, query string) ([]string, error) {
	rows, err := s.conn.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// ownIndexes selects the indexes that belong to no constraint.
const ownIndexes = ` FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE c.relnamespace = current_schema()::regnamespace
	AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
	ORDER BY c.relname`

func (s *server) begin(ctx context.Context) (err error) {
	if s.indexes, err = s.column(ctx, `SELECT pg_get_indexdef(i.indexrelid)`+ownIndexes); err != nil {
		return err
	}
	names, err := s.column(ctx, `SELECT c.relname::text`+ownIndexes)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.exec(ctx, `DROP INDEX `+pgx.Identifier{name}.Sanitize()); err != nil {
			return err
		}
	}
	return nil
}

// insert collects small batches and sends them table by table, so that
// references are valid.
func (s *server) insert(ctx context.Context, t table, rows [][]any) error {
	const enough = 20_000
	for i, known := range tables() {
		if known.name == t.name {
			s.pending[i] = append(s.pending[i], rows...)
		}
	}
	last := t.name == tables()[tableCount-1].name
	if last && (len(s.pending[awards]) >= enough || len(s.pending[holdings]) >= enough) {
		return s.flush(ctx)
	}
	return nil
}

func (s *server) flush(ctx context.Context) error {
	for i, t := range tables() {
		if len(s.pending[i]) == 0 {
			continue
		}
		_, err := s.conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(s.pending[i]))
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		s.pending[i] = nil
	}
	return nil
}

func (s *server) exec(ctx context.Context, statement string) error {
	_, err := s.conn.Exec(ctx, statement)
	return err
}

func (s *server) finish(ctx context.Context) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	if err := s.exec(ctx, sumPositions); err != nil {
		return err
	}
	for _, statement := range s.indexes {
		if err := s.exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := s.exec(ctx, `VACUUM (ANALYZE)`); err != nil {
		return err
	}
	_ = s.exec(ctx, `CHECKPOINT`) // needs a privilege that the user may lack
	return nil
}

func (s *server) sizes(ctx context.Context) (sizes []Size, total int64, err error) {
	rows, err := s.conn.Query(ctx, strings.TrimSpace(`
		SELECT c.relname::text, coalesce(t.relname, c.relname)::text, pg_relation_size(c.oid)
		FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'i') ORDER BY 2, 3 DESC`))
	if err != nil {
		return nil, 0, err
	}
	sizes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Size])
	if err != nil {
		return nil, 0, err
	}
	err = s.conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&total)
	return sizes, total, err
}

func (s *server) close() error {
	return s.conn.Close(context.Background())
}
