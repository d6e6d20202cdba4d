// Random programs over many streams, devices and events, compared with a sequential model.
//
// Every operation mixes one cell into another. The program uses events to order every pair of operations that
// access the same cell, and no other pair. Any legal order therefore gives the result of the sequential
// order.
#include "host_support.h"

#include <random>

namespace simt_test {
namespace {

constexpr int kDevices = 3;
constexpr int kStreams = 7;
constexpr int kCells = 12;

__host__ __device__ unsigned mix(unsigned to, unsigned from, unsigned salt) {
  return (to ^ (from * 2654435761u + salt)) * 2246822519u + 1;
}

__global__ void mix_cells(unsigned* to, const unsigned* from, unsigned salt, int work) {
  unsigned value = *to;
  const unsigned other = *from;
  for (int i = 0; i < work; ++i) value = mix(value, other, salt + static_cast<unsigned>(i));
  *to = value;
}

struct Step {
  int stream, to, from, work;
  unsigned salt;
  bool copy;  // a copy instead of a kernel
};

std::vector<Step> random_program(std::mt19937& random, int steps) {
  std::vector<Step> program;
  for (int i = 0; i < steps; ++i) {
    Step step;
    step.stream = static_cast<int>(random() % kStreams);
    step.to = static_cast<int>(random() % kCells);
    step.from = static_cast<int>(random() % kCells);
    step.work = random() % 8 == 0 ? 20000 : 1;
    step.salt = static_cast<unsigned>(random());
    step.copy = random() % 4 == 0;
    program.push_back(step);
  }
  return program;
}

std::vector<unsigned> model(const std::vector<Step>& program) {
  std::vector<unsigned> cells(kCells, 1);
  for (const Step& step : program) {
    unsigned& to = cells[static_cast<size_t>(step.to)];
    const unsigned from = cells[static_cast<size_t>(step.from)];
    if (step.copy) {
      to = from;
      continue;
    }
    for (int i = 0; i < step.work; ++i) to = mix(to, from, step.salt + static_cast<unsigned>(i));
  }
  return cells;
}

class HostRandomDag : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    for (int d = 0; d < kDevices; ++d) {
      CUDA_OK(cudaSetDevice(d));
      for (int peer = 0; peer < kDevices; ++peer)
        if (peer != d) CUDA_OK(cudaDeviceEnablePeerAccess(peer, 0));
    }
    for (int i = 0; i < kCells; ++i) {
      CUDA_OK(cudaSetDevice(i % kDevices));
      cells_.push_back(allocate<unsigned>(1));
    }
    for (int i = 0; i < kStreams; ++i) {
      CUDA_OK(cudaSetDevice(i % kDevices));
      streams_.push_back(make_stream(i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    }
  }
  void TearDown() override {
    for (int d = 0; d < kDevices; ++d) {
      cudaSetDevice(d);
      cudaDeviceReset();
    }
    HostTest::TearDown();
  }

  void reset_cells() {
    for (unsigned* cell : cells_) {
      const unsigned one = 1;
      CUDA_OK(cudaMemcpy(cell, &one, sizeof(one), cudaMemcpyHostToDevice));
    }
  }
  std::vector<unsigned> results() {
    std::vector<unsigned> values;
    for (const unsigned* cell : cells_) values.push_back(read(cell));
    return values;
  }
  void synchronize() {
    for (const cudaStream_t stream : streams_) CUDA_OK(cudaStreamSynchronize(stream));
  }

  // Issues the program. `forget`: the step before which no waits are issued, which is a defect; -1 for none.
  void issue(const std::vector<Step>& program, std::vector<cudaEvent_t>& events, int forget = -1) {
    struct Access {
      int step = -1;
      std::vector<int> readers;  // since the last write
    };
    std::vector<Access> access(kCells);
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      const Step& step = program[static_cast<size_t>(i)];
      const cudaStream_t stream = streams_[static_cast<size_t>(step.stream)];
      CUDA_OK(cudaSetDevice(step.stream % kDevices));
      Access& to = access[static_cast<size_t>(step.to)];
      Access& from = access[static_cast<size_t>(step.from)];
      std::vector<int> waits = to.readers;
      waits.push_back(to.step);
      waits.push_back(from.step);
      if (i != forget)
        for (const int wait : waits)
          if (wait >= 0 && program[static_cast<size_t>(wait)].stream != step.stream)
            CUDA_OK(cudaStreamWaitEvent(stream, events[static_cast<size_t>(wait)]));
      if (step.copy) {
        CUDA_OK(cudaMemcpyAsync(cells_[static_cast<size_t>(step.to)], cells_[static_cast<size_t>(step.from)],
                                sizeof(unsigned), cudaMemcpyDeviceToDevice, stream));
      } else {
        const auto config = shape(1, 1, stream);
        CUDA_OK(cudaLaunchKernelEx(&config, mix_cells, cells_[static_cast<size_t>(step.to)],
                                   cells_[static_cast<size_t>(step.from)], step.salt, step.work));
      }
      events.push_back(make_event());
      CUDA_OK(cudaEventRecord(events.back(), stream));
      to.step = i;
      to.readers.clear();
      from.readers.push_back(i);
    }
  }
  void destroy(std::vector<cudaEvent_t>& events) {
    for (const cudaEvent_t event : events) CUDA_OK(cudaEventDestroy(event));
    events.clear();
  }

  std::vector<unsigned*> cells_;
  std::vector<cudaStream_t> streams_;
};

TEST_F(HostRandomDag, EveryLegalOrderGivesTheSequentialResult) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    if (round >= 20) simt::set_seed(static_cast<uint64_t>(round));
    const auto program = random_program(random, 120);
    std::vector<cudaEvent_t> events;
    reset_cells();
    issue(program, events);
    synchronize();
    ASSERT_EQ(results(), model(program)) << "round " << round;
    destroy(events);
  }
}

// The same program as a graph: forked from the first stream, joined back into it, and replayed.
TEST_F(HostRandomDag, CapturedProgramsGiveTheSequentialResult) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    if (round >= 10) simt::set_seed(static_cast<uint64_t>(round));
    const auto program = random_program(random, 80);
    std::vector<cudaEvent_t> events;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUDA_OK(cudaSetDevice(0));
    const cudaEvent_t fork = make_event();
    CUDA_OK(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeRelaxed));
    CUDA_OK(cudaEventRecord(fork, streams_[0]));
    for (int i = 1; i < kStreams; ++i) CUDA_OK(cudaStreamWaitEvent(streams_[static_cast<size_t>(i)], fork));
    issue(program, events);
    for (int i = 1; i < kStreams; ++i) {
      CUDA_OK(cudaSetDevice(i % kDevices));
      events.push_back(make_event());
      CUDA_OK(cudaEventRecord(events.back(), streams_[static_cast<size_t>(i)]));
      CUDA_OK(cudaStreamWaitEvent(streams_[0], events.back()));
    }
    CUDA_OK(cudaStreamEndCapture(streams_[0], &graph));
    size_t nodes = 0;
    CUDA_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, program.size());
    CUDA_OK(cudaGraphInstantiate(&exec, graph));
    CUDA_OK(cudaGraphDestroy(graph));

    auto twice = program;
    twice.insert(twice.end(), program.begin(), program.end());
    reset_cells();
    CUDA_OK(cudaGraphLaunch(exec, streams_[0]));
    CUDA_OK(cudaGraphLaunch(exec, streams_[0]));
    CUDA_OK(cudaStreamSynchronize(streams_[0]));
    ASSERT_EQ(results(), model(twice)) << "round " << round;
    CUDA_OK(cudaGraphExecDestroy(exec));
    destroy(events);
    CUDA_OK(cudaEventDestroy(fork));
  }
}

// Without the waits of one step in the middle, some seed must give another result: seeds find missing waits.
TEST_F(HostRandomDag, MissingWaitsAreFound) {
  NOT_UNDER_CHECK();
  std::mt19937 random(3);
  int found = 0;
  const int programs = 10;
  for (int round = 0; round < programs; ++round) {
    const auto program = random_program(random, 60);
    const auto expected = model(program);
    bool wrong = false;
    for (int forget = 5; forget < 55 && !wrong; ++forget) {
      simt::set_seed(static_cast<uint64_t>(forget));
      std::vector<cudaEvent_t> events;
      reset_cells();
      issue(program, events, forget);
      synchronize();
      wrong = results() != expected;
      destroy(events);
    }
    found += wrong;
  }
  EXPECT_EQ(found, programs);
}

}  // namespace
}  // namespace simt_test
