// An exercise: the loss read back at every step.
//
// A copy to the host waits for the step. The host then enqueues the next step to an idle device, and the
// device waits for the host. If the losses are added on the device, the host reads the sum once per epoch. It
// can then be many steps ahead, and the step can be recorded into a CUDA graph.
//
// Questions.
//   1. For how long is the device idle in each step of the wrong version?
//   2. Does cudaMemcpyAsync() to pageable memory, without a synchronisation, mend it? And to pinned memory?
//   3. How can a program show the loss every 100 steps without waiting for the device? (LossProbe)

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rondo::test {
namespace {

// A step and its host function take much room in the stream's queue: the host blocks after 56 of them.
constexpr int kSteps = 40;

// Gradient descent on the square of x[0], with learning rate 1/4. Adds the loss to x[1].
__global__ void train_step(float* x) {
  x[1] += x[0] * x[0];
  x[0] -= 0.25f * (2 * x[0]);
}

class LossReadBack : public testing::Test {
 protected:
  LossReadBack() : x_(std::vector<float>{1, 0}) { throw_if_error(load("train_step", train_step)); }

  void enqueue_step() { throw_if_error(launch("train_step", {}, stream_, train_step, x_.data())); }

  // Wrong on purpose, if called after every step: waits for the device.
  cudaError_t read_loss(float* loss) {
    const cudaError_t error =
        cudaMemcpyAsync(loss, x_.data() + 1, sizeof(float), cudaMemcpyDeviceToHost, stream_);
    return error == cudaSuccess ? cudaStreamSynchronize(stream_) : error;
  }

  // Counts the steps that the device has done, in a host function after each.
  void enqueue_counted_step() {
    enqueue_step();
    ++enqueued_;
    RONDO_CUDA_THROW(cudaLaunchHostFunc(
        stream_, [](void* done) { ++*static_cast<std::atomic<int>*>(done); }, &done_));
    most_ahead_ = std::max(most_ahead_, enqueued_ - done_);
  }

  // Blocks the stream until open_ is set.
  void close_stream() {
    RONDO_CUDA_THROW(cudaLaunchHostFunc(
        stream_,
        [](void* open) {
          while (!*static_cast<std::atomic<bool>*>(open))
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        },
        &open_));
  }

  // The error of recording one step, and of what `after_step` does, into a graph.
  template <class AfterStep>
  cudaError_t record(AfterStep after_step, cudaGraph_t* graph) {
    RONDO_CUDA_THROW(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue_step();
    const cudaError_t error = after_step();
    const cudaError_t end = cudaStreamEndCapture(stream_, graph);
    static_cast<void>(cudaGetLastError());
    return error == cudaSuccess ? end : error;
  }

  Buffer<float> x_;
  Stream stream_;
  std::atomic<int> done_ = 0;
  std::atomic<bool> open_ = false;
  int enqueued_ = 0, most_ahead_ = 0;
};

TEST_F(LossReadBack, AtEveryStepKeepsTheHostOneStepAhead) {
  float loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    enqueue_counted_step();
    ASSERT_EQ(read_loss(&loss), cudaSuccess);
  }
  show("read at every step: the host waited ", kSteps, " times and was at most ", most_ahead_, " step ahead");
  EXPECT_LE(most_ahead_, 1);
  EXPECT_FLOAT_EQ(loss, 4 / 3.0f);
}

TEST_F(LossReadBack, AtTheEndLetsTheHostEnqueueAllSteps) {
  close_stream();  // no step runs before all are enqueued
  for (int step = 0; step < kSteps; ++step) enqueue_counted_step();
  open_ = true;
  float loss = 0;
  ASSERT_EQ(read_loss(&loss), cudaSuccess);
  show("read at the end: the host waited once and was ", most_ahead_, " steps ahead");
  EXPECT_EQ(most_ahead_, kSteps);
  EXPECT_FLOAT_EQ(loss, 4 / 3.0f);
}

TEST_F(LossReadBack, CannotBeRecorded) {
  cudaGraph_t graph = nullptr;
  float loss = 0;
  const cudaError_t error = record([&] { return read_loss(&loss); }, &graph);
  show("recording a step that reads the loss: ", cudaGetErrorName(error));
  EXPECT_EQ(error, cudaErrorStreamCaptureUnsupported);
}

TEST_F(LossReadBack, AStepThatKeepsTheLossOnTheDeviceCanBeRecorded) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(record([] { return cudaSuccess; }, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  RONDO_CUDA_THROW(cudaGraphInstantiate(&executable, graph));
  for (int step = 0; step < kSteps; ++step) RONDO_CUDA_THROW(cudaGraphLaunch(executable, stream_));
  float loss = 0;
  ASSERT_EQ(read_loss(&loss), cudaSuccess);
  EXPECT_FLOAT_EQ(loss, 4 / 3.0f);
  RONDO_CUDA_THROW(cudaGraphExecDestroy(executable));
  RONDO_CUDA_THROW(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace rondo::test
