package main

import (
	"errors"
	"strings"
	"testing"
)

// PostgreSQL beyond this machine needs TLS: a URL that permits less is refused.
func TestPlainPostgresIsRefused(t *testing.T) {
	t.Parallel()
	for url, refused := range map[string]bool{
		"postgres://u@db.example/n":                                   true, // prefer falls back to plain
		"postgres://u@db.example/n?sslmode=disable":                   true,
		"postgres://u@db.example/n?sslmode=allow":                     true,
		"postgres://u@127.0.0.1,db.example/n?sslmode=disable":         true,
		"postgres://u@10.0.0.1/n":                                     true,
		"postgres://u@db.example/n?sslmode=require":                   false,
		"postgres://u@db.example/n?sslmode=verify-full":               false,
		"postgres://u@localhost/n":                                    false,
		"postgres://u@127.0.0.1:5433/n?sslmode=disable":               false,
		"postgres://u@[::1]/n?sslmode=disable":                        false,
		"postgres://u@/n?host=/var/run/postgresql":                    false,
		"postgres://u@127.0.0.1,localhost/n?sslmode=disable":          false,
		"postgres://u@db.example,other.example/n?sslmode=verify-full": false,
	} {
		err := plainPostgresFlag{}.checkPostgres(url)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "--allow-plain-postgres") {
			t.Errorf("%s: %v", url, err)
		}
		if err := (plainPostgresFlag{AllowPlainPostgres: true}).checkPostgres(url); err != nil {
			t.Errorf("%s, allowed: %v", url, err)
		}
	}
}

// No error shows a part of a password, however the URL is mistyped.
func TestMistypedURLsHideTheirPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:secret@h/n", "postgres://u:sec:secret@h/n", "postgres://u:se%zzcret@h/n", "postgres://u:x#secret@h/n",
		"postgres://u:x?secret@h/n", "postgres://u:12/secret@h/n", "postgres://u:x secret@h/n", "postgres://u:x@secret@h:y/n",
		"postgress://u:secret@h/n", "postgres:/u:secret@h/n", "postgres:u:secret@h/n", "Postgres://u:secret@h/n",
		"host=h password=secret", "postgres://h/n?password=secret&sslmode=nonsense", "mysql://u:secret@h/n", "u:secret@h",
		"postgresql://u:secret@h:port/n", "postgres://u:secret@h/n?sslmode=verify-fulll",
		"postgres://h/n?sslpassword=secret&sslmode=require",
	} {
		_, pathErr := sqlitePath("--database", url, "sqlite:PATH")
		parse := errors.New("unexpected argument " + url)
		for what, text := range map[string]string{
			"the check":    errorText(plainPostgresFlag{}.checkPostgres(url)),
			"another kind": errorText(pathErr), "shown": withoutPassword(url),
			"a parsing error":             errorText(redactArguments(parse, []string{"serve", url})),
			"a parsing error with a flag": errorText(redactArguments(parse, []string{"--databse=" + url})),
		} {
			bare := strings.HasPrefix(url, "u:") && strings.HasPrefix(what, "a parsing") // without a scheme it is not recognized
			if strings.Contains(text, "secret") && !bare || strings.Contains(text, "%zzcret") {
				t.Errorf("%s of %s: %s", what, url, text)
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The broker's credentials travel over https or stay on this machine.
func TestPlainBrokersAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://api.alpaca.markets": "", "http://127.0.0.1:8090": "", "http://localhost:1": "", "http://[::1]:1": "",
		"http://paper:8090": "--allow-plain-http-broker", "http://10.0.0.1": "--allow-plain-http-broker",
		"http://127.0.0.1.example": "--allow-plain-http-broker", "http://localhost.example": "--allow-plain-http-broker",
		"ftp://paper": "must be https://", "paper:8090": "must be https://", "": "must be https://", "https://u:p@h": "must be https://",
	} {
		err := addressFlags{}.checkAddress("--alpaca-url", address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
		allowed := addressFlags{AllowPlainHTTPBroker: true}.checkAddress("--alpaca-url", address)
		if (allowed == nil) != (want == "" || strings.HasPrefix(want, "--allow")) {
			t.Errorf("%s, allowed: %v", address, allowed)
		}
	}
}

// A path that would be another file than meant is refused.
func TestMistakenPathsAreRefused(t *testing.T) {
	t.Parallel()
	for database, want := range map[string]string{
		"sqlite:rewards.db": "", "sqlite:/data/rewards.db": "", "sqlite:///data/rewards.db": "", "sqlite:./~": "",
		"sqlite:": "must be sqlite:PATH", "rewards.db": "must be sqlite:PATH",
		"sqlite::memory:": "in memory", "sqlite:./:memory:": "in memory",
		"sqlite:~/rewards.db": "the shell did not replace ~", "sqlite:~": "the shell did not replace ~",
		"sqlite://rewards.db": "must be sqlite:PATH, without //", "sqlite:rewards.db\r": `rewards.db\r": must have no control character`,
	} {
		_, err := databaseFlag{Database: database}.database()
		if (err == nil) != (want == "") || !strings.Contains(errorText(err), want) {
			t.Errorf("%s: %v, want %q", database, err, want)
		}
	}
}
