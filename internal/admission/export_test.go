package admission

// Sources returns the number of addresses in memory.
func (s *KeyThrottle) Sources() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sources)
}
