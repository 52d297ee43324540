// Loops over stored kernel values, compiled once per instruction set like the tiles.
#pragma once

#include <cstdint>

namespace fwsvm {

template <class T> struct VectorLoops {
    // gradient[j] += sum_t weights[t] * rows[t][j] for j in [begin, end)
    void (*add_rows)(const T* const* rows, const double* weights, int count, int64_t begin, int64_t end,
                     double* gradient);
    // sum_j values[j] * weights[j]
    double (*dot)(const T* values, const double* weights, int64_t count);
    // to[j * stride + i] = from[i * stride + j]; the two do not overlap
    void (*transpose)(const T* from, int64_t rows, int64_t columns, int64_t stride, T* to);
    // Up to `steps` steps of minimise_on_simplex (solver_loops.hpp); false when it is done.
    bool (*pair_steps)(const T* matrix, int64_t stride, int64_t size, const double* diagonal, double* weights,
                       double* gradient, double tolerance, int steps);
    // Up to `steps` steps of coordinate_descent (solver_loops.hpp); false when none is worth taking.
    bool (*coordinate_steps)(const T* kernel, int64_t stride, int64_t size, const double* signs,
                             const double* ridge, double* coefficients, double* outputs, double* work,
                             int steps);
};

struct LoopTable {
    VectorLoops<float> single_precision;
    VectorLoops<double> double_precision;
};

namespace baseline { const LoopTable& loop_table(); }
#if defined(FWSVM_HAS_X86_VARIANTS)
namespace avx2 { const LoopTable& loop_table(); }
namespace avx512 { const LoopTable& loop_table(); }
#endif

}  // namespace fwsvm
