package test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// serviceWrites are the methods of store.Store that write: what the service does by
// itself, or for a client. What an operator's command does is a method of
// store.Operator, which logs it.
func serviceWrites() []string {
	return []string{
		"AddWebhookTest", "ApplyAction", "BeginAttempt", "BeginPayout", "ChangeActions", "ChangeUsers",
		"ChangeWebhookEndpoint", "CheckWrites", "ClearAlarm", "Confirm", "CorrectOrder", "CorrectPosition", "CreateUser", "CreateUsers",
		"CreateWebhookEndpoint", "DeleteWebhookEndpoint", "DoubtAsset", "DropLease", "DropWebhookShards", "EnsureAsset", "IndexRewards",
		"Installation", "LogPast", "MarkShort", "MergeFilters", "MoveLots", "MoveMembers", "PinBroker", "PlanOrder", "RaiseAlarm", "RecordCashAwards", "RecordRewards", "ResealWebhookSecrets",
		"CompleteReversals", "ReverseRewards",
		"SaveActivities", "SaveAlarms", "SaveBrakes", "SaveDifferences", "SaveMarketHours", "SaveOrder", "SavePaid", "SaveQuotes",
		"SaveReconciliation", "SaveStandstills", "SaveWebhooks", "SealSegment", "SeedAssets", "SettleOrders", "SharePayout", "Sweep", "TakeLease",
		"TakeWebhookShards",
	}
}

// Every method by which an operator changes the store logs it: a method of
// store.Store that writes is one that is known to be the service's own.
func TestOperatorsWriteByTheLog(t *testing.T) {
	t.Parallel()
	_, list := packages(t)
	at := slices.IndexFunc(list, func(r pkg) bool { return r.name == "internal/store" })
	writers := map[string]bool{}
	methods := map[string]*ast.FuncDecl{}
	for _, file := range list[at].files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && receiver(f) == "Store" {
				methods[f.Name.Name] = f
			}
		}
	}
	for again := true; again; { // a method that calls one that writes
		again = false
		for name, f := range methods {
			if !writers[name] && callsOne(f, writers) {
				writers[name], again = true, true
			}
		}
	}
	found := 0
	for name := range methods {
		if !writers[name] || !ast.IsExported(name) {
			continue
		}
		found++
		if !slices.Contains(serviceWrites(), name) {
			t.Errorf("store.Store.%s writes: if an operator's command calls it, make it a method of store.Operator", name)
		}
	}
	if found != len(serviceWrites()) {
		t.Errorf("%d methods of store.Store write, %d are listed", found, len(serviceWrites()))
	}
}

// receiver is the type of a method, without its pointer.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	kind := f.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	name, _ := kind.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// callsOne reports whether a method writes by the engine, or calls one of the named methods
// of its receiver.
func callsOne(f *ast.FuncDecl, names map[string]bool) (calls bool) {
	receiver := ""
	if list := f.Recv.List[0].Names; len(list) > 0 {
		receiver = list[0].Name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch of := method.X.(type) {
		case *ast.SelectorExpr:
			calls = calls || of.Sel.Name == "engine" && strings.HasPrefix(method.Sel.Name, "Write")
		case *ast.Ident:
			calls = calls || of.Name == receiver && names[method.Sel.Name]
		}
		return true
	})
	return calls
}

// Commands print by say.go alone, so that a terminal obeys nothing that a broker or a
// client has written.
func TestCommandsPrintBySay(t *testing.T) {
	t.Parallel()
	set, list := packages(t)
	at := slices.IndexFunc(list, func(r pkg) bool { return r.name == "cmd/stockrewards" })
	for path, file := range list[at].files {
		if strings.HasSuffix(path, "/say.go") || strings.HasSuffix(path, "/version.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := s.X.(*ast.Ident); ok && of.Name == "fmt" && strings.HasPrefix(s.Sel.Name, "Print") {
				t.Errorf("%s: fmt.%s: print by sayf, sayln or table", set.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}
