package rewards

import "unicode/utf8"

// Nearest returns the candidate with the smallest edit distance to word, the first of equal
// ones; "" without candidates.
func Nearest(word string, candidates []string) string {
	nearest, least := "", 0
	for i, candidate := range candidates {
		if d := Distance(word, candidate); i == 0 || d < least {
			nearest, least = candidate, d
		}
	}
	return nearest
}

// Distance returns the edit distance (Levenshtein) between a and b: the number of letters to
// insert, remove or replace.
func Distance(a, b string) int {
	row := make([]int, utf8.RuneCountInString(b)+1) // distances from the letters of a so far
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
