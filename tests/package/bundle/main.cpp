#include <cstdio>

const char *run();

int main() { std::puts(run()); }
