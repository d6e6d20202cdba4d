// Slices of rows have their own means and sums of squares, which are then combined without cancellation: the
// squares of the differences of the means come in. A thread has a channel, so that a warp reads neighbours.
namespace {

constexpr int kChannels = 32, kThreads = 8, kMostSlices = 64;

// count values with this mean; squares: the sum of the squares of their differences from it.
struct Moments {
  float count = 0, mean = 0, squares = 0;

  __device__ void add(float value) {  // Welford
    count += 1;
    const float difference = value - mean;
    mean += difference / count;
    squares += difference * (value - mean);
  }
  __device__ void add(const Moments& other) {  // Chan, Golub and LeVeque
    if (other.count == 0) return;
    const float all = count + other.count, difference = other.mean - mean;
    mean += difference * (other.count / all);
    squares += other.squares + difference * difference * (count * other.count / all);
    count = all;
  }
};

// Block (x, y): channels from 32 x, the rows of slice y.
__global__ void reduce_slices(const float* x, Moments* of_slices, int rows, int channels) {
  __shared__ float count[kThreads][kChannels], mean[kThreads][kChannels], squares[kThreads][kChannels];
  const int c = blockIdx.x * kChannels + threadIdx.x;
  Moments moments;
  if (c < channels)
    for (int i = blockIdx.y * kThreads + threadIdx.y; i < rows; i += gridDim.y * kThreads)
      moments.add(x[size_t{static_cast<unsigned>(i)} * channels + c]);
  count[threadIdx.y][threadIdx.x] = moments.count;
  mean[threadIdx.y][threadIdx.x] = moments.mean;
  squares[threadIdx.y][threadIdx.x] = moments.squares;
  __syncthreads();
  if (threadIdx.y != 0 || c >= channels) return;
  for (int t = 1; t < kThreads; ++t)
    moments.add(Moments{count[t][threadIdx.x], mean[t][threadIdx.x], squares[t][threadIdx.x]});
  of_slices[blockIdx.y * channels + c] = moments;
}

// Each block combines the slices of its channels again, which are few; those of slice 0 write the result.
__global__ void normalise(const float* x, const float* gamma, const float* beta, const Moments* of_slices,
                          float* mean, float* variance, float* y, int rows, int channels, float epsilon) {
  __shared__ float factors[kChannels], offsets[kChannels];
  const int c = blockIdx.x * kChannels + threadIdx.x;
  if (threadIdx.y == 0 && c < channels) {
    Moments moments;
    for (int slice = 0; slice < gridDim.y; ++slice) moments.add(of_slices[slice * channels + c]);
    factors[threadIdx.x] = gamma[c] * rsqrtf(moments.squares / rows + epsilon);
    offsets[threadIdx.x] = moments.mean;
    if (blockIdx.y == 0) mean[c] = moments.mean, variance[c] = moments.squares / rows;
  }
  __syncthreads();
  if (c >= channels) return;
  const float factor = factors[threadIdx.x], offset = offsets[threadIdx.x], added = beta[c];
  for (int i = blockIdx.y * kThreads + threadIdx.y; i < rows; i += gridDim.y * kThreads) {
    const size_t at = size_t{static_cast<unsigned>(i)} * channels + c;
    y[at] = (x[at] - offset) * factor + added;
  }
}

}  // namespace

void batch_norm(const float* x, const float* gamma, const float* beta, float* mean, float* variance, float* y,
                int rows, int channels, float epsilon) {
  const int columns = (channels + kChannels - 1) / kChannels, blocks = (rows + kThreads - 1) / kThreads;
  int slices = (256 + columns - 1) / columns;  // some blocks for each multiprocessor
  slices = slices < blocks ? slices : blocks;
  slices = slices < kMostSlices ? slices : kMostSlices;
  const dim3 grid(columns, slices), block(kChannels, kThreads);
  Moments* of_slices;
  cudaMallocAsync(&of_slices, slices * channels * sizeof(Moments), 0);
  reduce_slices<<<grid, block>>>(x, of_slices, rows, channels);
  normalise<<<grid, block>>>(x, gamma, beta, of_slices, mean, variance, y, rows, channels, epsilon);
  cudaFreeAsync(of_slices, 0);
}
