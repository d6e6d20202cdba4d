// Asks for more memory than a solution may have.
#include <cstdio>
#include <cstdlib>

void vector_add(const float*, const float*, float*, int) {
  void* memory;
  printf("%s\n", cudaGetErrorName(cudaMalloc(&memory, size_t{3} << 30)));
  char* volatile host = static_cast<char*>(std::malloc(size_t{3} << 30));
  printf("%s\n", host ? "memory of the host" : "no memory of the host");
}
