// Waits for a value that no thread writes.
__global__ void wait(volatile float* sum) {
  while (sum[0] != 1.5f) continue;
}

void vector_add(const float*, const float*, float* sum, int) { wait<<<1, 1>>>(sum); }
