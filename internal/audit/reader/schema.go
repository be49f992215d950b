package reader

// Schemas returns the versions of the schemas that this program reads and writes, by engine.
func Schemas() map[string]int {
	return map[string]int{"sqlite": sqliteVersion, "postgresql": postgresVersion}
}
