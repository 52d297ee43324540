// The inner loops of solvers that a profile proved hot. src/fwsvm/solvers/ has each of them in readable
// Python, against which the tests hold these.
#pragma once

#include <list>
#include <unordered_map>
#include <vector>

#include "engine.hpp"
#include "packing.hpp"

namespace fwsvm {

struct Counts {
    int64_t evaluations = 0;
    double seconds = 0;
    int64_t hits = 0, misses = 0;
};

// k(x_i, x_s) of any row i and the entered rows s, in order of entry, so that what is known of a row
// stays a valid prefix. The entered rows stay packed. Least recently used rows are forgotten first.
// (ActiveValues in src/fwsvm/solvers/cache.py)
template <class T> class ActiveValues {
  public:
    ActiveValues(const RowsView& rows, const KernelParameters&, int64_t most_bytes);
    void enter(int64_t row);
    int64_t entered() const { return int64_t(entered_.size()); }
    const T* row(int64_t i, Execution&);  // values with all entered rows; good until the next call
    // out[r] = sum_s weights[s] k(rows[r], s)
    void products(const int64_t* rows, int64_t count, const double* weights, double* out, Execution&);
    Counts take_counts();

  private:
    struct Known {
        std::vector<T> values;
        int64_t count = 0;
        std::list<int64_t>::iterator age;
    };
    void complete(const int64_t* rows, int64_t count, Execution&);
    void evaluate(const std::vector<Known*>& known, Execution&);
    void evaluate_without_panels(const std::vector<Known*>& known, const RowsView& missing, Execution&);
    void evaluate_block(Known* const* known, const PackedRows<T>& block, Execution&);
    void forget(int64_t keep);
    bool packs_panels() const { return rows_.columns <= direct_slots; }

    RowsView rows_;
    KernelParameters parameters_;
    int64_t most_bytes_, bytes_ = 0;
    int width_;
    std::vector<int64_t> entered_;
    std::vector<T> panels_, side_;
    std::vector<double> exact_side_;
    std::unordered_map<int64_t, Known> known_;
    std::list<int64_t> by_age_;  // newest first
    std::vector<int64_t> missing_;
    Block<T> block_;
    Buffer<T> scratch_;
    Counts counts_;
};

// min a' M a over the simplex by steps between pairs of rows, warm-started, until the gradients of the
// furthest and the nearest row differ by no more than the tolerance. The gradient M a is kept up to date.
// (pair_steps in src/fwsvm/solvers/core_vector.py)
template <class T>
void minimise_on_simplex(const T* matrix, int64_t stride, int64_t size, double* weights, double* gradient,
                         double tolerance, Execution&);

// min 1/2 b' Kt b - sum b over b >= 0 by greedy coordinate steps, b_i <- max(0, b_i - g_i / kt_ii), warm-started,
// until the gap relative to the primal value is within the tolerance: true then. outputs[i] = sum_s b_s y_s (k_is + 1)
// is kept up to date. (coordinate_steps in src/fwsvm/solvers/coordinate.py)
template <class T>
bool coordinate_descent(const T* kernel, int64_t stride, int64_t size, const double* signs, const double* ridge,
                        double* coefficients, double* outputs, double tolerance, int64_t most_steps, Execution&);

}  // namespace fwsvm
