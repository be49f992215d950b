package dbfile

// MoveNew is what Publish does where hard links are missing.
var MoveNew = moveNew
