// Compiled once per instruction set. The loops are kept free of branches, so that the compiler turns them
// into vectors.

#include "vector_loops.hpp"

#include "vector.hpp"

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {
namespace {

// gradient[j] += sum_t weights[t] rows[t][j], four rows at a time so that the gradient is read and
// written once for four rows
template <class T>
void add_rows(const T* const* rows, const double* weights, int count, int64_t begin, int64_t end,
              double* gradient) {
    int t = 0;
    for (; t + 4 <= count; t += 4) {
        const T *r0 = rows[t], *r1 = rows[t + 1], *r2 = rows[t + 2], *r3 = rows[t + 3];
        const double w0 = weights[t], w1 = weights[t + 1], w2 = weights[t + 2], w3 = weights[t + 3];
        for (int64_t j = begin; j < end; ++j)
            gradient[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j]);
    }
    for (; t < count; ++t)
        for (int64_t j = begin; j < end; ++j) gradient[j] += weights[t] * rows[t][j];
}

template <class T> double dot(const T* values, const double* weights, int64_t count) {
    constexpr int parts = 32;  // sums side by side, which the compiler turns into vectors
    double sum[parts] = {};
    int64_t j = 0;
    for (; j + parts <= count; j += parts)
        for (int p = 0; p < parts; ++p) sum[p] += double(values[j + p]) * weights[j + p];
    for (int p = 1; p < parts; ++p) sum[0] += sum[p];
    for (; j < count; ++j) sum[0] += double(values[j]) * weights[j];
    return sum[0];
}

// As many perfect shuffles of the rows as there are bits in the number of lanes.
template <class T> void transpose_square(const T* from, int64_t stride, T* to) {
    constexpr int n = lanes<T>;
    Vector<T> rows[n], shuffled[n];
    for (int i = 0; i < n; ++i) rows[i] = load(from + i * stride);
    for (int round = 1; round < n; round *= 2) {
        for (int i = 0; i < n / 2; ++i) {
            shuffled[2 * i] = interleave_low<T>(rows[i], rows[i + n / 2]);
            shuffled[2 * i + 1] = interleave_high<T>(rows[i], rows[i + n / 2]);
        }
        for (int i = 0; i < n; ++i) rows[i] = shuffled[i];
    }
    for (int i = 0; i < n; ++i) store(to + i * stride, rows[i]);
}

template <class T> void transpose(const T* from, int64_t rows, int64_t columns, int64_t stride, T* to) {
    constexpr int n = lanes<T>;
    const int64_t whole_rows = rows - rows % n, whole_columns = columns - columns % n;
    for (int64_t i = 0; i < whole_rows; i += n)
        for (int64_t j = 0; j < whole_columns; j += n) transpose_square(from + i * stride + j, stride, to + j * stride + i);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j) to[j * stride + i] = from[i * stride + j];
}

// First the extreme value, then where it is.
template <class T>
bool pair_steps(const T* matrix, int64_t stride, int64_t size, const double* diagonal, double* weights,
                double* gradient, double tolerance, int steps) {
    while (steps--) {
        double lowest = gradient[0];
        for (int64_t s = 1; s < size; ++s) lowest = gradient[s] < lowest ? gradient[s] : lowest;
        int64_t i = 0;
        while (gradient[i] != lowest) ++i;

        // the partner with the largest slope^2 / |z_i - z_s|^2
        const T* row_i = matrix + i * stride;
        auto gain_with = [=](int64_t s) {
            const double slope = weights[s] > 0 ? gradient[s] - lowest : 0.0;
            const double curvature = diagonal[i] + diagonal[s] - 2.0 * double(row_i[s]);
            return slope * slope / (curvature > 1e-12 ? curvature : 1e-12);
        };
        double steepest = 0, best = 0;
        for (int64_t s = 0; s < size; ++s) {
            const double slope = weights[s] > 0 ? gradient[s] - lowest : 0.0, gain = gain_with(s);
            steepest = slope > steepest ? slope : steepest;
            best = gain > best ? gain : best;
        }
        if (steepest <= tolerance || best <= 0) return false;
        int64_t j = 0;
        while (j + 1 < size && gain_with(j) < best * (1 - 1e-9)) ++j;

        const T* row_j = matrix + j * stride;
        const double curvature = diagonal[i] + diagonal[j] - 2.0 * double(row_i[j]);
        double amount = (gradient[j] - lowest) / (curvature > 1e-12 ? curvature : 1e-12);
        if (amount < weights[j]) {
            if (weights[j] - amount == weights[j] && weights[i] + amount == weights[i]) return false;  // lost in roundings
            weights[j] -= amount;
        } else {
            amount = weights[j];
            weights[j] = 0;
        }
        weights[i] += amount;
        for (int64_t s = 0; s < size; ++s) gradient[s] += amount * (double(row_i[s]) - double(row_j[s]));
    }
    return true;
}

// What a step on row i gains: the step is slope / kt_ii, clipped at b_i = 0.
inline double gain_of(double slope, double coefficient, double diagonal, double inverse) {
    const double wanted = slope * inverse;
    const double step = wanted > -coefficient ? wanted : -coefficient;
    return step * (slope - 0.5 * step * diagonal);
}

// slopes[i] = 1 - y_i outputs[i] - ridge_i b_i, with outputs[i] = sum_s b_s y_s (k_is + 1).
template <class T>
bool coordinate_steps(const T* kernel, int64_t stride, int64_t size, const double* signs, const double* ridge,
                      double* coefficients, double* outputs, double* work, int steps) {
    constexpr int64_t block = 64;  // rows of which the best is known before it is known where it is
    double *slopes = work, *diagonal = work + size, *inverse = work + 2 * size;
    for (int64_t i = 0; i < size; ++i) {
        slopes[i] = 1.0 - signs[i] * outputs[i] - ridge[i] * coefficients[i];
        diagonal[i] = double(kernel[i * stride + i]) + 1.0 + ridge[i];
        inverse[i] = 1.0 / diagonal[i];
    }
    double change = 0;
    const T* row = kernel;
    bool goes_on = true;
    while (goes_on && steps--) {
        // the last change reaches the slopes on the way to the best row
        double best = 0;
        int64_t place = 0;
        for (int64_t first = 0; first < size; first += block) {
            const int64_t end = first + block < size ? first + block : size;
            double best_here = 0;
            for (int64_t s = first; s < end; ++s) {
                slopes[s] -= change * signs[s] * (double(row[s]) + 1.0);
                const double gain = gain_of(slopes[s], coefficients[s], diagonal[s], inverse[s]);
                best_here = gain > best_here ? gain : best_here;
            }
            if (best_here > best) best = best_here, place = first;
        }
        change = 0;
        goes_on = best > 0;
        if (!goes_on) break;
        int64_t i = place;
        best = 0;  // not compared with the one above, whose roundings may differ
        for (int64_t s = place; s < size && s < place + block; ++s) {
            const double gain = gain_of(slopes[s], coefficients[s], diagonal[s], inverse[s]);
            if (gain > best) best = gain, i = s;
        }
        const double wanted = coefficients[i] + slopes[i] * inverse[i];
        const double next = wanted > 0 ? wanted : 0.0;
        change = (next - coefficients[i]) * signs[i];
        goes_on = change != 0;  // else lost in roundings
        slopes[i] -= ridge[i] * (next - coefficients[i]);
        coefficients[i] = next;
        row = kernel + i * stride;
    }
    for (int64_t s = 0; s < size; ++s) {
        slopes[s] -= change * signs[s] * (double(row[s]) + 1.0);
        outputs[s] = signs[s] * (1.0 - slopes[s] - ridge[s] * coefficients[s]);
    }
    return goes_on;
}

template <class T> constexpr VectorLoops<T> loops() {
    return {add_rows<T>, dot<T>, transpose<T>, pair_steps<T>, coordinate_steps<T>};
}

}  // namespace

const LoopTable& loop_table() {
    static const LoopTable table = {loops<float>(), loops<double>()};
    return table;
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
