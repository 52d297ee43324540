// The tile code: inner sums of a few rows with a panel of columns in registers, the kernel function
// on them while they are in the first-level cache, and then a store or a weighted sum.
//
// Compiled once per instruction set. Everything lives in a namespace of its own and nothing of the
// standard library is instantiated, so that no variant's code can end up in another's.

#include "tiles.hpp"

#include <cstring>
#include <type_traits>

#include "kernel_functions.hpp"
#include "vector.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define FWSVM_UNROLL _Pragma("GCC unroll 32")
#elif defined(__clang__)
#define FWSVM_UNROLL _Pragma("unroll")
#else
#define FWSVM_UNROLL
#endif

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {
namespace {

// As many accumulators as the registers hold, in `vectors` columns of vectors.
#if FWSVM_VECTOR_BYTES == 64
constexpr int tile_rows = 14;
#elif defined(__aarch64__)
constexpr int tile_rows = 12;
#else
constexpr int tile_rows = 6;
#endif
constexpr int dense_vectors = 2;
constexpr int sparse_vectors = 4;
constexpr int most_block_rows = 512;

template <class T> constexpr int dense_width = dense_vectors * lanes<T>;
template <class T> constexpr int sparse_width = sparse_vectors * lanes<T>;

int64_t stored_row(const RowsView& view, int64_t i) {
    return view.selection ? view.selection[i] : i;
}

// ---------------------------------------------------------------------------------------- packing

template <class S, class T>
void interleave_dense(const RowsView& view, int64_t first, int count, int width, T* to) {
    constexpr int features = 16;  // a few features of all rows at a time: whole cache lines
    const S* row[64];
    for (int i = 0; i < count; ++i)
        row[i] = static_cast<const S*>(view.values) + stored_row(view, first + i) * view.stride;
    for (int64_t k0 = 0; k0 < view.columns; k0 += features) {
        const int64_t k1 = k0 + features < view.columns ? k0 + features : view.columns;
        for (int i = 0; i < count; ++i)
            for (int64_t k = k0; k < k1; ++k)
                to[k * width + i] = view.centre ? T(double(row[i][k]) - view.centre[k])
                                                : T(row[i][k]);
        for (int i = count; i < width; ++i)
            for (int64_t k = k0; k < k1; ++k) to[k * width + i] = T(0);
    }
}

template <class S, class I, class T>
void interleave_sparse(const RowsView& view, int64_t first, int count, int width,
                       const int32_t* slot_of, int64_t depth, T* to) {
    const S* values = static_cast<const S*>(view.values);
    const I* indices = static_cast<const I*>(view.indices);
    const I* row_starts = static_cast<const I*>(view.row_starts);
    std::memset(to, 0, sizeof(T) * size_t(depth) * size_t(width));
    for (int i = 0; i < count; ++i) {
        const int64_t row = stored_row(view, first + i);
        for (I p = row_starts[row]; p < row_starts[row + 1]; ++p) {
            const int64_t slot = slot_of ? slot_of[indices[p]] : indices[p];
            to[slot * width + i] = view.centre ? T(double(values[p]) - view.centre[indices[p]]) : T(values[p]);
        }
    }
}

template <class T>
void interleave(const RowsView& view, int64_t first, int count, int width, const int32_t* slot_of,
                int64_t depth, T* to) {
    if (view.is_sparse) {
        auto pack = view.is_double
            ? (view.has_wide_indices ? interleave_sparse<double, int64_t, T>
                                     : interleave_sparse<double, int32_t, T>)
            : (view.has_wide_indices ? interleave_sparse<float, int64_t, T>
                                     : interleave_sparse<float, int32_t, T>);
        pack(view, first, count, width, slot_of, depth, to);
    } else {
        auto pack = view.is_double ? interleave_dense<double, T> : interleave_dense<float, T>;
        pack(view, first, count, width, to);
    }
}

// ------------------------------------------------------------------------------------- kernel tiles

// tile[r, j] = function(sum_k inner(a[k, r], b[k, j])) for `height` rows and one dense panel.
template <class T, int height, class Function>
void kernel_tile(const Function& function, const T* a, const T* b, int64_t depth, const T* row_side,
                 const T* column_side, T* tile) {
    Vector<T> sum[height][dense_vectors];
    FWSVM_UNROLL
    for (int r = 0; r < height; ++r)
        FWSVM_UNROLL
        for (int v = 0; v < dense_vectors; ++v) sum[r][v] = broadcast(T(0));
    for (int64_t k = 0; k < depth; ++k, a += tile_rows, b += dense_width<T>) {
        Vector<T> column[dense_vectors];
        FWSVM_UNROLL
        for (int v = 0; v < dense_vectors; ++v) column[v] = load(b + v * lanes<T>);
        FWSVM_UNROLL
        for (int r = 0; r < height; ++r)
            FWSVM_UNROLL
            for (int v = 0; v < dense_vectors; ++v)
                sum[r][v] = Function::Inner::template add<T>(sum[r][v], a[r], column[v]);
    }
    FWSVM_UNROLL
    for (int r = 0; r < height; ++r)
        FWSVM_UNROLL
        for (int v = 0; v < dense_vectors; ++v)
            store(tile + r * dense_width<T> + v * lanes<T>,
                  function(sum[r][v], row_side[r], load(column_side + v * lanes<T>)));
}

// The same for one sparse row and a panel of all its slots; the sums begin at `start`. Loads bound this
// loop, so binary data (one-hot columns, say) does without those of the values.
template <class T, bool all_ones, class Function>
void kernel_row(const Function& function, const T* values, const int32_t* slots, int64_t count, T start,
                const T* panel, T row_side, const T* column_side, T* to) {
    Vector<T> sum[sparse_vectors];
    FWSVM_UNROLL
    for (int v = 0; v < sparse_vectors; ++v) sum[v] = broadcast(start);
    for (int64_t p = 0; p < count; ++p) {
        const T* column = panel + int64_t(slots[p]) * sparse_width<T>;
        const T value = all_ones ? T(1) : values[p];
        FWSVM_UNROLL
        for (int v = 0; v < sparse_vectors; ++v)
            sum[v] = Function::Inner::template add_stored<T>(sum[v], value, load(column + v * lanes<T>));
    }
    FWSVM_UNROLL
    for (int v = 0; v < sparse_vectors; ++v)
        store(to + v * lanes<T>, function(sum[v], row_side, load(column_side + v * lanes<T>)));
}

// ---------------------------------------------------------------- exact values where float is not

// Where rows lie far from the origin but near each other, distances made of norms cancel. Those (few)
// kernel values are computed again: from differences where rows are dense, else from sums in double.
template <class T> struct Refinement {
    double error_factor;  // the rounding error of gamma x distance is about this x the smaller norm
    double target;        // what it may change a kernel value by
    double norm_limit;    // below this norm every value is good enough

    Refinement(const KernelParameters& p, double terms) {
        double root = 1;  // square root of the number of terms: roundings add up like a random walk
        while (root * root < terms) root += 1;
        const bool is_float = std::is_same<T, float>::value;
        error_factor = p.gamma * (is_float ? 5.96e-8 : 1.11e-16) * (3.0 + 0.5 * root);
        target = is_float ? float_error_target : double_error_target;
        norm_limit = target / error_factor;
    }

    // distances(first, wanted, to) puts the distances from columns first + lane, where wanted, into to[lane].
    template <class Function, class Distances>
    void row(const Function& function, double norm, const double* column_norms, int columns, T* values,
             Distances distances) const {
        if (norm <= norm_limit) return;
        for (int first = 0; first < columns; first += lanes<T>) {
            const int count = columns - first < lanes<T> ? columns - first : lanes<T>;
            if (all_good(norm, column_norms + first, count, values + first)) continue;
            bool wanted[lanes<T>] = {};
            double to[lanes<T>] = {};
            for (int lane = 0; lane < count; ++lane) {
                const double error = error_of(norm, column_norms[first + lane]);
                wanted[lane] = error > target && !is_small(double(values[first + lane]), error);
            }
            distances(first, wanted, to);
            Vector<T> exact = broadcast(T(0));
            for (int lane = 0; lane < lanes<T>; ++lane) exact[lane] = T(to[lane] > 0 ? function.factor * to[lane] : 0.0);
            exact = exp2<T>(exact);
            for (int lane = 0; lane < count; ++lane)
                if (wanted[lane]) values[first + lane] = exact[lane];
        }
    }

    double error_of(double norm, double other) const { return error_factor * (norm < other ? norm : other); }

    // The usual case without a branch: every error is moderate and cannot matter to its value.
    bool all_good(double norm, const double* column_norms, int count, const T* values) const {
        int doubtful = 0;
        for (int j = 0; j < count; ++j) {
            const double error = error_of(norm, column_norms[j]);
            doubtful |= int(error >= 0.1) | int(1.11 * double(values[j]) * error > target);
        }
        return doubtful == 0;
    }

    // Is the value with its error so small that the error cannot matter? A very large error may hide any value.
    bool is_small(double value, double error) const {
        if (error > 40) return false;
        const double most = error < 0.1 ? 1.11 * value : exp2<double>(broadcast(error * log2_e))[0] * value;
        return most * error <= target;
    }
};

// ---------------------------------------------------------------------------------- the three sinks

template <class T>
void store_tile(const Sink<T>& sink, int64_t first_row, int rows, int64_t first_column, int columns,
                const T* tile, int width) {
    for (int r = 0; r < rows; ++r)
        std::memcpy(sink.block + (first_row + r) * sink.block_stride + first_column,
                    tile + r * width, sizeof(T) * size_t(columns));
}

// running[r, lane] += tile[r, lane] coefficient[lane]: one coefficient column, summed lane by lane
template <class T>
void sum_tile(const T* tile, int rows, int width, const T* coefficients, T* running) {
    for (int r = 0; r < rows; ++r) {
        Vector<T> sum = load(running + r * lanes<T>);
        for (int j = 0; j < width; j += lanes<T>)
            sum = sum + load(tile + r * width + j) * load(coefficients + j);
        store(running + r * lanes<T>, sum);
    }
}

// Symmetric product: the tile also counts for its columns, column_sums[j] += sum_r tile[r, j] row_coefficients[r],
// where it lies above the diagonal. `diagonal` is the column of the diagonal in the tile's first row: what
// lies left of it is zeroed (its mirror image counts), and the diagonal itself counts for the row alone.
template <class T>
void sum_tile_columns(const T* tile, int rows, int width, int64_t diagonal, const T* row_coefficients,
                      double* column_sums) {
    for (int j = 0; j < width; j += lanes<T>) {
        Vector<T> sum = broadcast(T(0));
        for (int r = 0; r < rows; ++r) sum = sum + load(tile + r * width + j) * row_coefficients[r];
        for (int lane = 0; lane < lanes<T>; ++lane) column_sums[j + lane] += double(sum[lane]);
    }
    for (int r = 0; r < rows; ++r)
        if (const int64_t j = diagonal + r; j >= 0 && j < width)
            column_sums[j] -= double(tile[r * width + j]) * double(row_coefficients[r]);
}
template <class T> void zero_below_diagonal(T* tile, int rows, int width, int64_t diagonal) {
    for (int r = 0; r < rows; ++r)
        for (int64_t j = 0; j < diagonal + r && j < width; ++j) tile[r * width + j] = T(0);
}

// sums[r, c] += sum_j tile[r, j] coefficients[j, c] for `height` rows and many columns c
template <class T, int height>
void multiply_tile(const T* tile, int width, const Sink<T>& sink, const T* coefficients,
                   double* sums) {
    constexpr int vectors = 4;
    for (int c0 = 0; c0 < sink.coefficient_stride; c0 += vectors * lanes<T>) {
        const int part = sink.coefficient_stride - c0 < vectors * lanes<T>
            ? (sink.coefficient_stride - c0) / lanes<T> : vectors;
        Vector<T> sum[height][vectors];
        for (int r = 0; r < height; ++r)
            for (int v = 0; v < vectors; ++v) sum[r][v] = broadcast(T(0));
        if (part == vectors) {
            for (int j = 0; j < width; ++j)
                FWSVM_UNROLL
                for (int r = 0; r < height; ++r)
                    FWSVM_UNROLL
                    for (int v = 0; v < vectors; ++v)
                        sum[r][v] = sum[r][v] + load(coefficients + j * sink.coefficient_stride
                                                     + c0 + v * lanes<T>) * tile[r * width + j];
        } else {
            for (int j = 0; j < width; ++j)
                for (int r = 0; r < height; ++r)
                    for (int v = 0; v < part; ++v)
                        sum[r][v] = sum[r][v] + load(coefficients + j * sink.coefficient_stride
                                                     + c0 + v * lanes<T>) * tile[r * width + j];
        }
        for (int r = 0; r < height; ++r)
            for (int c = c0; c < sink.coefficient_columns && c < c0 + part * lanes<T>; ++c)
                sums[r * sink.sums_stride + c] += double(sum[r][(c - c0) / lanes<T>][(c - c0) % lanes<T>]);
    }
}

// ------------------------------------------------------------------------------------- one group

// What dense and sparse rows do differently: how a tile is filled, and exact distances.
template <class T> struct DenseTiles {
    static constexpr int width = dense_width<T>;
    static constexpr int rows = tile_rows;
    static double terms(const PackedRows<T>&, int64_t depth) { return double(depth); }

    template <class Function>
    static void fill(const Function& function, const PackedRows<T>& block, int first, int count,
                     const T* panel, int64_t depth, const T* column_side, T* tile) {
        auto kernel = count == 1 ? kernel_tile<T, 1, Function>
            : count <= 4 ? kernel_tile<T, 4, Function> : kernel_tile<T, tile_rows, Function>;
        kernel(function, block.values + first * depth, panel, depth, block.side + first, column_side, tile);
    }
    // Only squared distances are ever asked for: sums of absolute differences of dense rows do not cancel. Nor do
    // squares of differences, so all columns of a vector are done at once in T.
    template <class Function>
    static void exact_distances(const Function&, const PackedRows<T>& block, int row, const PackedPanels<T>& panels,
                                const T* panel, int64_t, int first, const bool*, double* to) {
        const T* a = block.values + (row - row % tile_rows) * panels.depth + row % tile_rows;
        Vector<T> sum = broadcast(T(0));
        for (int64_t k = 0; k < panels.depth; ++k) {
            const Vector<T> difference = load(panel + k * width + first) - a[k * tile_rows];
            sum = sum + difference * difference;
        }
        for (int lane = 0; lane < lanes<T>; ++lane) to[lane] = double(sum[lane]);
    }
};

template <class T> struct SparseTiles {
    static constexpr int width = sparse_width<T>;
    static constexpr int rows = 8;
    static double terms(const PackedRows<T>& block, int64_t) {
        return double(block.row_starts[block.rows] - block.row_starts[0]) / block.rows;
    }

    template <class Function>
    static void fill(const Function& function, const PackedRows<T>& block, int first, int count,
                     const T* panel, int64_t, const T* column_side, T* tile) {
        if (block.all_ones) fill_rows<true>(function, block, first, count, panel, column_side, tile);
        else fill_rows<false>(function, block, first, count, panel, column_side, tile);
    }
    template <bool all_ones, class Function>
    static void fill_rows(const Function& function, const PackedRows<T>& block, int first, int count,
                          const T* panel, const T* column_side, T* tile) {
        for (int r = first; r < first + count; ++r, tile += width) {
            const int64_t begin = block.row_starts[r], end = block.row_starts[r + 1];
            kernel_row<T, all_ones>(function, block.values + begin, block.slots + begin, end - begin,
                                    block.start[r], panel, block.side[r], column_side, tile);
        }
    }
    template <class Function>
    static void exact_distances(const Function& function, const PackedRows<T>& block, int row,
                                const PackedPanels<T>& panels, const T* panel, int64_t first_column, int first,
                                const bool* wanted, double* to) {
        for (int column = first; column < first + lanes<T>; ++column) {
            if (!wanted[column - first]) continue;
            double sum = double(block.start[row]);
            for (int64_t p = block.row_starts[row]; p < block.row_starts[row + 1]; ++p)
                sum = Function::Inner::add_one_stored(sum, double(block.values[p]),
                                                      double(panel[int64_t(block.slots[p]) * width + column]));
            to[column - first] = function.distance(sum, block.exact_side[row], panels.exact_side[first_column + column]);
        }
    }
};

template <class T, class Tiles, class Function>
void evaluate_group(const Function& function, const KernelParameters& parameters,
                    const PackedRows<T>& block, const PackedPanels<T>& panels, const Sink<T>& sink) {
    constexpr int width = Tiles::width;
    alignas(64) T tile[Tiles::rows * width];
    alignas(64) T running[most_block_rows * lanes<T>];
    const bool one_column = !sink.block && sink.coefficient_columns == 1;
    const Refinement<T> refinement(parameters, Tiles::terms(block, panels.depth));

    if (one_column) std::memset(running, 0, sizeof(T) * size_t(block.rows) * lanes<T>);
    for (int p = 0; p < panels.panels; ++p) {
        const int64_t first_column = int64_t(p) * width;
        const int columns = panels.columns - first_column < width ? int(panels.columns - first_column) : width;
        const T* panel = panels.values + int64_t(p) * panels.depth * width;
        for (int first = 0; first < block.rows; first += Tiles::rows) {
            const int rows = block.rows - first < Tiles::rows ? block.rows - first : Tiles::rows;
            const int64_t diagonal = first - sink.skip_below - first_column;
            if (columns <= diagonal && (sink.block || sink.column_sums)) continue;
            Tiles::fill(function, block, first, rows, panel, panels.depth, panels.side + first_column, tile);
            if constexpr (Function::is_distance)
                for (int r = 0; r < rows; ++r)
                    refinement.row(function, block.exact_side[first + r], panels.exact_side + first_column,
                                   columns, tile + r * width, [&](int lane, const bool* wanted, double* to) {
                                       Tiles::exact_distances(function, block, first + r, panels, panel,
                                                              first_column, lane, wanted, to);
                                   });
            if (!sink.block && columns < width)  // padding: whatever the kernel makes of it must not count
                for (int r = 0; r < rows; ++r)
                    for (int j = columns; j < width; ++j) tile[r * width + j] = T(0);
            if (sink.column_sums) {
                if (diagonal + rows > 0) zero_below_diagonal(tile, rows, width, diagonal);
                sum_tile_columns(tile, rows, width, diagonal, sink.row_coefficients + first,
                                 sink.column_sums + first_column);
            }
            if (sink.block) {
                store_tile(sink, first, rows, first_column, columns, tile, width);
            } else if (one_column) {
                sum_tile(tile, rows, width, sink.coefficients + first_column, running + first * lanes<T>);
            } else {
                const T* coefficients = sink.coefficients + first_column * sink.coefficient_stride;
                double* sums = sink.sums + first * sink.sums_stride;
                int r = 0;
                for (; r + 2 <= rows; r += 2)
                    multiply_tile<T, 2>(tile + r * width, width, sink, coefficients, sums + r * sink.sums_stride);
                if (r < rows)
                    multiply_tile<T, 1>(tile + r * width, width, sink, coefficients, sums + r * sink.sums_stride);
            }
        }
    }
    if (one_column)
        for (int r = 0; r < block.rows; ++r) {
            double sum = 0;
            for (int lane = 0; lane < lanes<T>; ++lane) sum += double(running[r * lanes<T> + lane]);
            sink.sums[r * sink.sums_stride] += sum;
        }
}

template <class T>
void evaluate(const KernelParameters& parameters, bool sparse_rows, const PackedRows<T>& block,
              const PackedPanels<T>& panels, const Sink<T>& sink) {
    with_kernel_function<T>(parameters, [&](auto function) {
        if (sparse_rows)
            evaluate_group<T, SparseTiles<T>>(function, parameters, block, panels, sink);
        else
            evaluate_group<T, DenseTiles<T>>(function, parameters, block, panels, sink);
    });
}

double side_factor(const KernelParameters& parameters) {
    double factor = 1;
    with_kernel_function<double>(parameters, [&](auto function) { factor = function.factor; });
    return factor;
}

template <class T> constexpr TileFunctions<T> functions() {
    return {tile_rows, dense_width<T>, sparse_width<T>, most_block_rows, interleave<T>, evaluate<T>};
}

}  // namespace

const TileTable& tile_table() {
    static const TileFunctions<float> single_precision = functions<float>();
    static const TileFunctions<double> double_precision = functions<double>();
    static const TileTable table = {&single_precision, &double_precision, side_factor};
    return table;
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
