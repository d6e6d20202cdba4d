// What can't be translated: each message has the line and the reason.
__global__ void child(int* out) { *out = 1; }
__global__ void parent(int* out) { child<<<1, 1>>>(out); }
__global__ void assembly(unsigned* out) {
  asm volatile("mov.u32 %0, %laneid;" : "=r"(*out));
}
__global__ void initialized() {
  __shared__ int counter = 0;
  counter = 1;
}
__global__ void without_size() {
  __shared__ int values[];
  values[0] = 1;
}
int main() { child<<<1, 1; }
