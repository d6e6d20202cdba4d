// Starts the built program as a user does.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace rondo::test {

struct Outcome {
  int code = -1;  // the exit code, or 1000 + the signal that ended it
  std::string out, err;
  std::string text() const { return out + err; }
};

class BuiltProgram : public ::testing::Test {
 protected:
  // The user's measured links must not decide which algorithm a test runs, nor an installed data set what it
  // trains on. A test without --data finds what it has written to data_.
  BuiltProgram() {
    setenv("XDG_CACHE_HOME", streams_.path().c_str(), 1);
    setenv("RONDO_DATA", data_.path().c_str(), 1);
  }

  // Splits "train lenet --epochs 2" at its spaces.
  static std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
  }
  // Its standard output goes to `stdout_path`, or to the outcome if that is empty.
  pid_t start(std::vector<std::string> words, const std::string& stdout_path = "") {
    words.insert(words.begin(), program_);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
    const std::string out = stdout_path.empty() ? streams_ / "out" : stdout_path, err = streams_ / "err";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kNew, 0644);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kNew, 0644);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, program_.c_str(), &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }
  Outcome wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_text(streams_ / "out"),
            read_text(streams_ / "err")};
  }
  Outcome run(std::vector<std::string> words, const std::string& stdout_path = "") {
    return wait_for(start(std::move(words), stdout_path));
  }
  Outcome run_line(const std::string& line) { return run(words_of(line)); }
  // Exit code 2, one line that contains `parts`, no other output and no file.
  void expect_refused(const std::string& line, const std::vector<std::string>& parts) {
    const Outcome outcome = run_line(line);
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_EQ(outcome.out, "") << line;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("rondo: ")) << outcome.err;
    EXPECT_EQ(missing(outcome.err, parts), "") << line;
    EXPECT_EQ(results_.files(), 0u) << line;
  }

  std::string program_ = RONDO_PROGRAM;
  TemporaryDirectory data_, results_, streams_;
};

}  // namespace rondo::test
