// HostUploads: batches from the host arrive unchanged although the host reuses their memory.
#include <gtest/gtest.h>

#include <rondo/nn/data/host_uploads.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/late_copies.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace rondo {
namespace {

using Values = std::vector<int32_t>;

std::span<const int32_t> view(const Values& values) { return values; }

// More calls than may be unfinished, of growing and shrinking sizes, of two parts each.
TEST(HostUploads, MemoryMayBeReusedAtOnce) {
  const test::LateCopies late;
  const Stream stream;
  HostUploads uploads(0, stream);
  std::vector<Buffer<int32_t>> to;
  std::vector<Values> expected, reused;
  for (const int size : {5, 1000, 3, 100'000, 1, 1000, 0, 7}) {
    Values first(static_cast<size_t>(size)), second(3, size);
    std::iota(first.begin(), first.end(), size);
    to.emplace_back(size);
    to.emplace_back(3);
    uploads.enqueue(
        {upload_of(to[to.size() - 2].data(), view(first)), upload_of(to.back().data(), view(second))});
    expected.push_back(first);
    expected.push_back(second);
    first.assign(first.size(), -1);
    second.assign(3, -1);
    reused.push_back(std::move(first));
    reused.push_back(std::move(second));
  }
  stream.synchronize();
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i].download(), expected[i]) << i;
}

// A host that is far ahead of the device waits for the oldest copy, and not for more.
TEST(HostUploads, AreBounded) {
  const Stream stream;
  HostUploads uploads(0, stream, 3);
  Buffer<int32_t> to(1);
  std::atomic<bool> open = false;
  const auto wait_until_open = [](void* opened) {
    while (!*static_cast<std::atomic<bool>*>(opened)) std::this_thread::yield();
  };
  const Values one{1};
  const auto three = [&] {
    for (int i = 0; i < 3; ++i) uploads.enqueue({upload_of(to.data(), view(one))});
  };
  three();  // allocates the pinned memory: an allocation may wait for the device
  stream.synchronize();
  RONDO_CUDA_THROW(cudaLaunchHostFunc(stream, wait_until_open, &open));
  three();
  std::atomic<bool> returned = false;
  std::thread fourth([&] {
    uploads.enqueue({upload_of(to.data(), view(Values{2}))});
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(returned);
  open = true;
  fourth.join();
  stream.synchronize();
  EXPECT_EQ(to.download(), Values{2});
}

TEST(HostUploads, ReadPinnedMemoryInStreamOrder) {
  const Stream stream;
  HostUploads uploads(0, stream, 1);
  Buffer<int32_t> to(2);
  std::atomic<bool> open = false;
  const auto wait_until_open = [](void* opened) {
    while (!*static_cast<std::atomic<bool>*>(opened)) std::this_thread::yield();
  };
  int32_t* pinned = nullptr;
  RONDO_CUDA_THROW(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int32_t)));
  *pinned = 1;
  Values pageable{3};
  uploads.enqueue({upload_of(to.data() + 1, view(pageable))});  // allocates, which may wait for the device
  stream.synchronize();
  pageable[0] = 1;
  RONDO_CUDA_THROW(cudaLaunchHostFunc(stream, wait_until_open, &open));
  for (int i = 0; i < 3; ++i)  // no limit for pinned memory
    uploads.enqueue({upload_of(to.data(), std::span<const int32_t>(pinned, 1))});
  uploads.enqueue({upload_of(to.data() + 1, view(pageable))});
  *pinned = 2;
  pageable[0] = 2;
  open = true;
  stream.synchronize();
  EXPECT_EQ(to.download(), (Values{2, 1}));
  RONDO_CUDA_THROW(cudaFreeHost(pinned));
}

TEST(HostUploads, RefuseMemoryOfADevice) {
  const Stream stream;
  HostUploads uploads(0, stream);
  Buffer<int32_t> to(1), from(1);
  EXPECT_EQ(test::error_of(
                [&] { uploads.enqueue({upload_of(to.data(), std::span<const int32_t>(from.data(), 1))}); }),
            "the batch is in the memory of device 0, must be in host memory");
}

// A part that fails is reported, although the next one could be copied; later calls work.
TEST(HostUploads, ReportTheFirstPartThatFails) {
  const Stream stream;
  HostUploads uploads(0, stream, 1);
  Buffer<int32_t> to(2);
  to.fill_bytes(0);
  int32_t on_host = 0;
  const Values values{1}, others{2};
  for (const bool first : {true, false}) {
    int32_t* const begin = first ? &on_host : to.data();
    int32_t* const end = first ? to.data() : &on_host;
    EXPECT_EQ(test::missing(test::error_of([&] {
                              uploads.enqueue({upload_of(begin, view(values)), upload_of(end, view(values))});
                            }),
                            {"copying a batch to its device", "cudaErrorInvalidValue"}),
              "");
  }
  uploads.enqueue({upload_of(to.data(), view(others)), upload_of(to.data() + 1, view(others))});
  stream.synchronize();
  EXPECT_EQ(to.download(), (Values{2, 2}));
  EXPECT_EQ(on_host, 0);
}

}  // namespace
}  // namespace rondo
