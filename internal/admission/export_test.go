package admission

// Seen is how many addresses are remembered.
func (s *KeyThrottle) Seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}
