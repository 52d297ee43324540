// The tile code: inner sums of a few rows with a panel of columns in registers, the kernel function
// on them while they are in the first-level cache, and then a store or a weighted sum.
//
// Compiled once per instruction set. Everything lives in a namespace of its own and nothing of the
// standard library is instantiated, so that no variant's code can end up in another's.

#include "tiles.hpp"

#include <cstring>
#include <type_traits>

#include "interleave.hpp"
#include "kernel_functions.hpp"
#include "refinement.hpp"
#include "sinks.hpp"
#include "vector.hpp"

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
// Up to so many features two operations for each cost no more than what norms need besides.
constexpr int64_t most_depth_of_differences = 32;

template <class T> constexpr int dense_width = dense_vectors * lanes<T>;
template <class T> constexpr int sparse_width = sparse_vectors * lanes<T>;
static_assert(sparse_width<float> <= widest_interleaving && tile_rows <= widest_interleaving, "");

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
    static void exact_distances(const Function&, const PackedRows<T>& block, int row,
                                const PackedPanels<T>& panels, const T* panel, int64_t first_column, int first,
                                const bool* wanted, double* to) {
        for (int column = first; column < first + lanes<T>; ++column) {
            if (!wanted[column - first]) continue;
            double near = 0, row_part = 0, column_part = 0;  // over the features that the row stores
            for (int64_t p = block.row_starts[row]; p < block.row_starts[row + 1]; ++p) {
                const double a = double(block.values[p]);
                const double b = double(panel[int64_t(block.slots[p]) * width + column]);
                near += Function::distance_of(a - b);
                row_part += Function::distance_of(a);
                column_part += Function::distance_of(b);
            }
            const double roundings = 1.2e-16 * double(1 + block.row_starts[row + 1] - block.row_starts[row]);
            to[column - first] = near + rest(block.exact_side[row], row_part, roundings)
                + rest(panels.exact_side[first_column + column], column_part, roundings);
        }
    }
    // What the other features add to a distance: the norm without the part; nothing where only roundings are left.
    static double rest(double norm, double part, double roundings) {
        return norm - part > roundings * norm ? norm - part : 0.0;
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

    if (!one_column && !sink.block)
        std::memset(sink.running, 0, sizeof(T) * size_t(block.rows) * size_t(sink.coefficient_stride));
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
            if (!sink.block) zero_padding(tile, rows, columns, width);
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
                multiply_tile(tile, rows, width, sink.coefficients + first_column * sink.coefficient_stride,
                              sink.coefficient_stride, sink.running + first * sink.coefficient_stride);
            }
        }
    }
    if (one_column) add_running(sink, block.rows, running);
    else if (!sink.block) add_running_columns(sink, block.rows);
}

template <class T>
void evaluate(const KernelParameters& parameters, bool sparse_rows, const PackedRows<T>& block,
              const PackedPanels<T>& panels, const Sink<T>& sink) {
    if (parameters.name == KernelName::rbf && !sparse_rows && panels.depth <= most_depth_of_differences)
        return evaluate_group<T, DenseTiles<T>>(RbfOfDifferences<T>(parameters), parameters, block, panels, sink);
    with_kernel_function<T>(parameters, [&](auto function) {
        if (sparse_rows)
            evaluate_group<T, SparseTiles<T>>(function, parameters, block, panels, sink);
        else
            evaluate_group<T, DenseTiles<T>>(function, parameters, block, panels, sink);
    });
}

KernelTraits traits(const KernelParameters& parameters) {
    KernelTraits found{};
    with_kernel_function<double>(parameters, [&](auto function) {
        using Inner = typename decltype(function)::Inner;
        found = {function.factor, std::is_same<Inner, AbsoluteDifference>::value};
    });
    return found;
}

template <class T> constexpr TileFunctions<T> functions() {
    return {tile_rows, dense_width<T>, sparse_width<T>, most_block_rows, interleave<T>, evaluate<T>};
}

}  // namespace

const TileTable& tile_table() {
    static const TileFunctions<float> single_precision = functions<float>();
    static const TileFunctions<double> double_precision = functions<double>();
    static const TileTable table = {&single_precision, &double_precision, traits};
    return table;
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
