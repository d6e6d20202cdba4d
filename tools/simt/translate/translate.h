// From CUDA C++ to C++ for the executor.
//
// The input is a preprocessed source, so that macros are expanded and headers are there; what is rewritten
// are tokens, and each keeps its line. CUDA C++ has four things that C++ does not have:
//
//   a launch        kernel<T><<<grid, block, bytes, stream>>>(a, b)
//                   (simt::PendingLaunch(grid, block, bytes, stream), kernel<T>(a, b))
//   a kernel        begins with a test for a pending launch, which launches the kernel itself with the
//                   arguments of the call. So overloads, deduced template arguments, conversions and default
//                   arguments are the compiler's, and &kernel is what cudaLaunchKernelEx() takes
//   shared memory   __shared__ float tile[32][33], row[32];
//                   struct simt_shared_1 { float tile[32][33], row[32]; };
//                   auto& tile = simt::shared_variable<simt_shared_1>().tile; ...
//                   extern __shared__ T values[] becomes a pointer to the dynamic shared memory: where it
//                   is declared, or at the begin of each body that mentions it
//   variables       __constant__ float filter[64];
//                   float simt_first_filter[64]; and a binding of the name to the copy of the device that
// runs
//                   the code (simt/variables.h)
//
// System headers are not rewritten, but for the qualifiers.
#pragma once

#include <string>
#include <vector>

#include "tokens.h"

namespace simt::translate {

// Why a source can't be translated.
struct Problem {
  std::string file;
  int line = 0;
  std::string message;
};

struct Translation {
  std::string text;  // C++, preprocessed, with line markers
  std::vector<Problem> problems;
};

Translation translate(const Source& source);

}  // namespace simt::translate
