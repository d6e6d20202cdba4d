// `rondo banks` and `rondo sectors`: draw the banks of shared memory, or the sectors of global memory, that a
// warp accesses. docs/memory-accesses.md explains the rules and the figures.
#pragma once

#include <rondo/tools/rondo/banks/access.h>
#include <rondo/tools/rondo/support/terminal.h>

#include <ostream>
#include <string>

namespace rondo::program {

// "A warp loads 16 bytes per thread at index thread * 4 (elements of 4 bytes)". `verb`: "loads", "stores" or
// "accesses".
std::string access_title(const AccessArguments& arguments, const std::string& verb);
std::string banks_title(const AccessArguments& arguments);
std::string sectors_title(const AccessArguments& arguments);

// "wavefronts 8, at least 4: 4 bank conflicts, 2-way"
std::string banks_summary(const AccessArguments& arguments, const simt::WarpAccess& access);
// "sectors 32, at least 4: 1024 bytes moved for 128 asked for, efficiency 12.5 %"
std::string sectors_summary(const simt::WarpAccess& access);

std::string banks_text(const AccessArguments& arguments, const Terminal& terminal);
std::string sectors_text(const AccessArguments& arguments, const Terminal& terminal);
std::string banks_json(const AccessArguments& arguments);
std::string sectors_json(const AccessArguments& arguments);
std::string banks_svg(const AccessArguments& arguments);    // pictures/access_svg.cpp
std::string sectors_svg(const AccessArguments& arguments);  // pictures/access_svg.cpp

// Print the drawing, and write the requested files. Throw rondo::Error.
void show_banks(const AccessArguments& arguments, std::ostream& out, const Terminal& terminal);
void show_sectors(const AccessArguments& arguments, std::ostream& out, const Terminal& terminal);

}  // namespace rondo::program
