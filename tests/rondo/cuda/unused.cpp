// -Wall is passed to the compiler, and so is -w.
int main() { int unused; }
