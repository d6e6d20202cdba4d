// Products in bfloat16 by AMX, the matrix unit of some x86-64 processors (SIMT_AMX; README.md).
#pragma once

namespace simt {

// d += a b, in which d is [rows][d_step], of which `columns` are used, a is [rows][16] and b is [16][b_step].
// The values of a and b are those of bfloat16. rows: a multiple of 16; columns: of 8.
//
// Source: Intel Architecture Instruction Set Extensions, TDPBF16PS. The products of even k and those of odd k
// are added in order, each sum rounded to the nearest; then both sums are added, and to d. Denormals are 0.
void add_products_by_amx(int rows, int columns, float* d, int d_step, const float* a, const float* b,
                         int b_step);

}  // namespace simt
