// The interface between the engine (loops, threads, memory) and the tile code, which is compiled
// once per instruction set and reached through a table of function pointers.
#pragma once

#include <cstdint>

namespace fwsvm {

// The kernels of the engine: each one's name, and its struct in kernel_functions.hpp.
#define FWSVM_KERNELS(kernel)       \
    kernel(linear, Linear)          \
    kernel(rbf, Rbf)                \
    kernel(polynomial, Polynomial)  \
    kernel(sigmoid, Sigmoid)        \
    kernel(laplacian, Laplacian)

enum class KernelName : int {
#define FWSVM_NAME(name, Function) name,
    FWSVM_KERNELS(FWSVM_NAME)
#undef FWSVM_NAME
};

struct KernelParameters {
    KernelName name;
    double gamma, coef0;
    int degree;
};

// What the engine must know of a kernel to pack rows for it.
struct KernelTraits {
    double side_factor;        // side values are multiplied by it before the tiles get them
    bool absolute_difference;  // sums |a - b| over the features, else a b
};

// Rows of a dense row-major or CSR matrix, or a selection of them. Owns nothing.
struct RowsView {
    int64_t count;          // rows in this view
    int64_t columns;        // features
    bool is_sparse;
    bool is_double;         // values are double, else float
    bool has_wide_indices;  // indices and row_starts are int64, else int32
    const void* values;
    int64_t stride;            // dense: elements from one row to the next
    const void* indices;       // CSR: column of each value
    const void* row_starts;    // CSR: where each row begins in values
    const int64_t* selection;  // row i of the view is stored row selection[i]; null: row i
    const double* side;        // one value per stored row for the kernel function, or null
    const double* centre;      // subtracted from every row while packing, or null; CSR rows store what differs from it
};

// Rows packed for the left side of a tile. Dense: tiles of `tile_rows` rows, feature by feature.
// Sparse: values with the slot of each, row after row.
template <class T> struct PackedRows {
    int rows;
    const T* values;
    const int32_t* slots;       // sparse only
    const int64_t* row_starts;  // sparse only
    const T* start;             // sparse only: what each row's inner sum starts from
    bool all_ones;              // sparse only: no stored value but 1
    const T* side;             // side values times the kernel's side_factor
    const double* exact_side;  // side values as they are
};

// Rows packed for the right side: panels of `width` columns, values[(panel * depth + slot) * width + j].
template <class T> struct PackedPanels {
    int panels;
    int width;
    int64_t depth;    // slots of a panel
    int64_t columns;  // real columns; the rest of the last panel is padding
    const T* values;
    const T* side;
    const double* exact_side;
};

// What happens to the kernel values K[i, j] of a group: stored, or multiplied and summed.
template <class T> struct Sink {
    T* block;              // block[i * block_stride + j] = K[i, j], or null
    int64_t block_stride;
    int64_t skip_below;    // symmetric: K[i, j] is needed only where j + skip_below >= i
    const T* coefficients; // [j * coefficient_stride + c], padded with zeros
    int coefficient_columns;
    int coefficient_stride;
    double* sums;          // sums[i * sums_stride + c] += sum_j K[i, j] coefficients[j, c]
    int64_t sums_stride;
    T* running;            // several columns: room for [rows * coefficient_stride] sums of a group
    const T* row_coefficients;  // symmetric product, one column: above the diagonal also
    double* column_sums;        // column_sums[j] += sum_i K[i, j] row_coefficients[i]; else null
};

template <class T> struct TileFunctions {
    int tile_rows;           // rows of a dense tile
    int dense_panel_width;   // panel width against dense rows
    int sparse_panel_width;  // panel width against sparse rows
    int most_block_rows;     // most rows of one evaluate call
    // Interleaves `count` rows from `first`: to[k * width + i]; rows past the end are zeros.
    // Sparse rows put feature k into slot slot_of[k] (null: k) of `depth` slots.
    void (*interleave)(const RowsView&, int64_t first, int count, int width,
                       const int32_t* slot_of, int64_t depth, T* to);
    // All kernel values of packed rows x packed panels, into the sink.
    void (*evaluate)(const KernelParameters&, bool sparse_rows, const PackedRows<T>&,
                     const PackedPanels<T>&, const Sink<T>&);
};

// Most panels of one evaluate call; float sums of a row reach over so many panels and no further.
constexpr int panels_per_group = 8;

// By how much roundings may change a kernel of a distance before it is computed in another way.
constexpr double float_error_target = 5e-7, double_error_target = 2e-13;

struct TileTable {
    const TileFunctions<float>* single_precision;
    const TileFunctions<double>* double_precision;
    KernelTraits (*traits)(const KernelParameters&);
};

namespace baseline { const TileTable& tile_table(); }
#if defined(FWSVM_HAS_X86_VARIANTS)
namespace avx2 { const TileTable& tile_table(); }
namespace avx512 { const TileTable& tile_table(); }
#endif

}  // namespace fwsvm
