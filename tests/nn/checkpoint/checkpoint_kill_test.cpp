// A process killed while saving leaves the old or the new checkpoint, complete.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/train/two_trainings.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace rondo::nn {
namespace {

// Starts checkpoint_writer, waits for its first checkpoints and kills it `later`.
void write_and_kill(const std::string& path, std::chrono::microseconds later) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = CHECKPOINT_WRITER, argument = path;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char byte = 0;
  const bool started = error == 0 && read(ends[0], &byte, 1) == 1;
  close(ends[0]);
  ASSERT_TRUE(started) << program << " did not begin to save";
  std::this_thread::sleep_for(later);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
}

TEST(KilledWhileSaving, LeavesTheOldOrTheNewCheckpoint) {
  test::TwoTrainings trainings;
  const std::vector<float> one = test::parameters_of(trainings.one.model),
                           two = test::parameters_of(trainings.two.model);
  ASSERT_NE(one, two);
  const test::TemporaryDirectory directory;
  const std::string path = directory / "a";
  test::Random random(8);
  int found[2] = {0, 0}, in_the_middle = 0;
  const auto all_seen = [&] { return in_the_middle > 0 && found[0] > 0 && found[1] > 0; };
  // On a GPU each process creates a context, which can take a second.
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int round = 0; round < 100 && !(all_seen() && std::chrono::steady_clock::now() > enough); ++round) {
    ASSERT_NO_FATAL_FAILURE(write_and_kill(path, std::chrono::microseconds(random.below(20'000))));
    // Only an interrupted save leaves its temporary file.
    in_the_middle += std::filesystem::exists(directory / ".a.rondo-tmp");
    TrainingState state;
    ASSERT_NO_THROW(state = load_checkpoint(path, trainings.one.model, trainings.one.sgd));
    ASSERT_TRUE(state == TrainingState(1, 0, 0, 4) || state == TrainingState(2, 0, 0, 4)) << state.epoch;
    ASSERT_TRUE(test::all_equal_bits(test::parameters_of(trainings.one.model), state.epoch == 1 ? one : two));
    ++found[state.epoch - 1];
  }
  EXPECT_GT(in_the_middle, 0) << "no save was interrupted";
  EXPECT_GT(found[0], 0);
  EXPECT_GT(found[1], 0);
  EXPECT_LE(directory.files(), 2u) << "temporaries pile up";
}

}  // namespace
}  // namespace rondo::nn
