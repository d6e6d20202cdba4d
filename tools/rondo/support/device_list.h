// The devices of the ranks: the value of --devices, and the choice without it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

inline constexpr int kMaxDevices = 64;      // only a mistyped number exceeds it
inline constexpr int kDefaultReplicas = 2;  // the number of ranks if none is given

// "4" is devices 0 to 3; "0,1,0" is three ranks, of which device 0 holds two. Throws a bad_argument Error.
std::vector<int> parse_devices(const std::string& text);

// At least 1. Throws rondo::Error if there is none.
int present_devices();

// The ranks' devices: `asked` or, if it is empty, devices_for(kDefaultReplicas). The devices exist on return,
// and the first one is current. Throws rondo::Error.
std::vector<int> take_devices(const std::optional<std::vector<int>>& asked);

// A separate device for each of `ranks` ranks if there are enough, else devices in turn. The devices exist on
// return, and the first one is current.
std::vector<int> devices_for(int ranks);

// Assigns `ranks` ranks in turn to the `present` devices, which are at least 1.
std::vector<int> in_turn(int ranks, int present);

}  // namespace rondo::program
