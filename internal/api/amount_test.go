package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Specification, sections 4.5 and 8: greater than 0, at most 1000000. Decisions,
// awards: the range applies to the exact number; stored in millionths, rounded half
// away from zero; written without trailing zeros or exponent.
func TestAmounts(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for given, want := range map[string]string{
		"1": "1", "10": "10", "100": "100", "25.5": "25.5", "25.50": "25.5", "25.00": "25", "0.1": "0.1", "0.10": "0.1",
		"0.01": "0.01", "0.000001": "0.000001", "0.0000010": "0.000001",
		// What JavaScript sends for 0.1+0.2, 1.1*3 and 4.35*100.
		"0.30000000000000004": "0.3", "3.3000000000000003": "3.3", "434.99999999999994": "435",
		// Spellings of one number.
		"5e0": "5", "1E2": "100", "1e+2": "100", "1.5e1": "15", "2500e-2": "25", "0.05E1": "0.5", "1e6": "1000000",
		"100000000e-2": "1000000", "0.000001e12": "1000000", "1e-6": "0.000001", "10e-7": "0.000001",
		"0.00000000000000000000000000001e29": "1", "1" + strings.Repeat("0", 400) + "e-400": "1",
		"0." + strings.Repeat("0", 400) + "1e401": "1",
		// Half away from zero.
		"0.0000005": "0.000001", "0.0000014999999": "0.000001", "0.0000015": "0.000002", "0.0000024999": "0.000002",
		"0.0000025": "0.000003", "1.2345674": "1.234567", "1.2345675": "1.234568", "5e-7": "0.000001",
		"0.50000049": "0.5", "999999.9999995": "1000000", "999999.99999949": "999999.999999",
		"1.00000000000000000000000000000000001": "1", "123456.7890125": "123456.789013",
		// The upper end.
		"1000000": "1000000", "1000000.0": "1000000", "1000000.000000000000": "1000000", "999999.999999": "999999.999999",
		// Beyond the precision of floats.
		"900719.925474": "900719.925474", "123456.123457": "123456.123457", "0.123456": "0.123456",
	} {
		t.Run(given[:min(len(given), 40)], func(t *testing.T) {
			t.Parallel()
			body := award(user, "amountUsd", given)
			first := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusCreated)
			got := []string{
				first.raw(t, "reward", "amountUsd"),
				c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusOK).raw(t, "reward", "amountUsd"),
				c.get(t, "/v1/rewards/"+first.text(t, "reward", "id")).raw(t, "reward", "amountUsd"),
			}
			if diff := cmp.Diff([]string{want, want, want}, got); diff != "" {
				t.Errorf("%s is stored as (-want +got):\n%s", given, diff)
			}
		})
	}
}

func TestInvalidAmounts(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, given := range []string{
		"0", "-0", "0.0", "0e0", "0e5", "-0.0e9", "0.00", "0e400", "0e99999999999999999999", "-1", "-0.01", "-1e-9", "-1000000",
		"1000000.000001", "1000000.0000001", "1000000.00000000000000000000000000001", "1000001", "1e7", "1e400", "9e999999",
		"1e99999999999999999999", "-1e400", "10000000000000000000000", "1.0000000000001e6", "1000000000e-2",
		// Rounded to 0.
		"1e-7", "4e-7", "0.0000001", "0.0000004", "0.00000049999999999999999", "1e-400", "1e-99999999999999999999",
		// Not numbers.
		`"5"`, `"5.00"`, `"1e2"`, `""`, "true", "null", "[]", "[5]", "{}", `{"value":5}`,
	} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			c.post(t, "/v1/rewards", award(user, "amountUsd", given)).wantIssues(t, "amountUsd")
		})
	}
}
