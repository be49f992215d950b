package rewards

import "unicode/utf8"

// Nearest is the candidate that needs the fewest letters inserted, removed or replaced
// to become the word; of equally near ones the first. It is "" without candidates.
func Nearest(word string, candidates []string) string {
	nearest, least := "", 0
	for i, candidate := range candidates {
		if d := Distance(word, candidate); i == 0 || d < least {
			nearest, least = candidate, d
		}
	}
	return nearest
}

// Distance is how many letters must be inserted, removed or replaced to make b of a.
func Distance(a, b string) int {
	row := make([]int, utf8.RuneCountInString(b)+1) // of the letters of a so far
	for j := range row {
		row[j] = j
	}
	for _, letterA := range a {
		diagonal := row[0]
		row[0]++
		j := 0
		for _, letterB := range b {
			replaced := diagonal
			if letterA != letterB {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
			j++
		}
	}
	return row[len(row)-1]
}
