// The kernel engine: loops over packed blocks of rows, so that no more than a few megabytes of
// packed data exist at a time and a kernel matrix never does unless the caller asked for it.
#pragma once

#include <string>

#include "thread_pool.hpp"
#include "tiles.hpp"
#include "vector_loops.hpp"

namespace fwsvm {

struct InstructionSet {
    std::string name;
    const TileTable* table;
    const LoopTable* loops;
};
// The best one this CPU has; the environment variable FWSVM_ISA lowers it. Throws std::runtime_error
// with the possible names when it asks for one that is not there.
const InstructionSet& instruction_set();
std::string available_instruction_sets();

// out[i * stride + j] = k(a_i, b_j)
template <class T>
void block(const RowsView& a, const RowsView& b, const KernelParameters&, T* out, int64_t stride,
           Execution&);

// out[i * stride + j] = k(a_i, a_j), every pair evaluated once
template <class T>
void symmetric_block(const RowsView& a, const KernelParameters&, T* out, int64_t stride, Execution&);

// out[i * columns + c] = sum_j k(a_i, b_j) coefficients[j * columns + c], in arithmetic of type T
// with sums over tiles in double
template <class T>
void product(const RowsView& a, const RowsView& b, const KernelParameters&,
             const double* coefficients, int columns, double* out, Execution&);

// out = K(A, A) c for one column c, every pair evaluated once
template <class T>
void symmetric_product(const RowsView& a, const KernelParameters&, const double* coefficients, double* out,
                       Execution&);

// gradient += sum_t weights[t] * stored[rows[t], :]
template <class T>
void add_rows(const T* stored, int64_t stride, const int64_t* rows, const double* weights, int count,
              int64_t columns, double* gradient, Execution&);

// out[i] = sum_k |x_ik - centre_k|^power for power 1 or 2, over stored rows; the differences rounded
// to float where the tiles that will use the norms compute in float
void norms(const RowsView&, int power, bool single_precision, double* out, Execution&);

}  // namespace fwsvm
