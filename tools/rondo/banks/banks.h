// `rondo banks` and `rondo sectors`: draw the banks of shared memory, or the sectors of global memory, that a
// warp accesses. `rondo profile` draws observed accesses with the same functions. docs/memory-accesses.md
// explains the rules and the figures.
#pragma once

#include <rondo/tools/rondo/banks/access.h>
#include <rondo/tools/rondo/support/terminal.h>

#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

// A drawing of one access: its banks if it is to shared memory, otherwise its sectors.
struct AccessDrawing {
  std::string title;     // "A warp loads 16 bytes per thread at index thread * 4 (elements of 4 bytes)"
  std::string subtitle;  // may be empty
  simt::WarpAccess access;
  bool shared = false, store = false;

  // "wavefronts 8, at least 4: 4 bank conflicts, 2-way" or
  // "sectors 32, at least 4: 1024 bytes moved for 128 asked for, efficiency 12.5 %"
  std::string summary() const;
};
AccessDrawing banks_drawing(const AccessArguments& arguments);
AccessDrawing sectors_drawing(const AccessArguments& arguments);

std::string drawing_text(const AccessDrawing& drawing, const Terminal& terminal);
std::string drawings_svg(const std::vector<AccessDrawing>& drawings);  // banks/access_svg.cpp

std::string banks_json(const AccessArguments& arguments);
std::string sectors_json(const AccessArguments& arguments);

// Print the drawing, and write the requested files. Throw rondo::Error.
void show_banks(const AccessArguments& arguments, std::ostream& out, const Terminal& terminal);
void show_sectors(const AccessArguments& arguments, std::ostream& out, const Terminal& terminal);

}  // namespace rondo::program
