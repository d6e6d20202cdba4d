#include <simt/clock.h>

#include <chrono>

long long clock64() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return 2 * duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}
