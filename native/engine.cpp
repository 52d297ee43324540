#include "engine.hpp"

#include "packing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace fwsvm {
namespace {

constexpr int64_t packed_rows_bytes = 384 << 10;  // stays in a second-level cache
constexpr int64_t packed_chunk_bytes = 8 << 20;   // stays in a third-level cache, shared by all threads
constexpr int64_t sparse_values_of_block = 32 << 10;
constexpr int64_t most_kept_bytes = 32 << 20;     // of a thread's packed data, from call to call
constexpr int64_t tasks_of_chunk = 64;            // pieces of work to aim for where rows are few

// How the pairs of rows are cut into pieces of work. It depends on the shapes alone, never on the
// number of threads: every sum is made of the same parts in the same order.
template <class T> struct Plan {
    int width;                // columns of a panel
    int64_t block_rows;       // rows of a block
    int64_t chunk_columns;    // columns packed at a time

    Plan(const RowsView& a, const RowsView& b) {
        const auto& tiles = tile_functions<T>();
        width = a.is_sparse ? tiles.sparse_panel_width : tiles.dense_panel_width;
        const int64_t features = std::max<int64_t>(1, a.columns);
        if (a.is_sparse) {
            block_rows = sparse_values_of_block / std::max<int64_t>(1, stored_values_of_a_row(a));
            block_rows = std::clamp<int64_t>(block_rows, 16, tiles.most_block_rows);
        } else {
            block_rows = packed_rows_bytes / (features * int64_t(sizeof(T)));
            block_rows = std::clamp<int64_t>(block_rows, 1, tiles.most_block_rows);
            block_rows = divide_up(block_rows, tiles.tile_rows) * tiles.tile_rows;
            if (block_rows > tiles.most_block_rows) block_rows -= tiles.tile_rows;
        }
        const int64_t panel_bytes = features * width * int64_t(sizeof(T));
        int64_t panels = std::clamp<int64_t>(packed_chunk_bytes / panel_bytes, 1, 1024);
        if (panels > panels_per_group) panels -= panels % panels_per_group;
        chunk_columns = std::min(panels * width, divide_up(b.count, width) * width);
    }
};

void set_to_zero(double* values, int64_t count, Execution& execution) {
    constexpr int64_t part = 1 << 20;
    execution.parallel_for(divide_up(count, part), [&](int64_t p) {
        std::fill(values + p * part, values + std::min(count, (p + 1) * part), 0.0);
    });
}

template <class T> struct Workspace {
    Chunk<T> chunk;
    Buffer<T> coefficients;
    Buffer<double> partial;
    int64_t bytes() const { return chunk.bytes() + coefficients.bytes() + partial.bytes(); }
};
// Memory that a thread keeps from call to call (if it is not much) and lends to one call at a time: a
// signal handler may call the engine in the middle of a call of the same thread.
template <class Memory> class Borrowed {
  public:
    Borrowed() : mine_(std::move(kept())) {
        if (!mine_) mine_ = std::make_unique<Memory>();
    }
    ~Borrowed() {
        if (mine_->bytes() <= most_kept_bytes) kept() = std::move(mine_);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Memory* operator->() const { return mine_.get(); }

  private:
    static std::unique_ptr<Memory>& kept() {
        static thread_local std::unique_ptr<Memory> memory;
        return memory;
    }
    std::unique_ptr<Memory> mine_;
};

// visit(block of rows, first row, group of panels, first column, part) for every pair of a block and
// a group. Blocks run in parallel; where there are few, so do parts of a chunk's groups.
template <class T, class Visit, class Prepare, class Finish>
void for_each_group(Chunk<T>& chunk, const RowsView& a, const RowsView& b, const KernelParameters& parameters,
                    int64_t most_parts, Execution& execution, Prepare prepare, Visit visit, Finish finish) {
    const Plan<T> plan(a, b);
    const KernelTraits traits = traits_of(parameters);
    const int64_t blocks = divide_up(a.count, plan.block_rows);
    for (int64_t column = 0; column < b.count; column += plan.chunk_columns) {
        const int64_t columns = std::min(plan.chunk_columns, b.count - column);
        chunk.pack(b, column, columns, a.is_sparse, plan.width, traits, execution);
        const int64_t groups = divide_up(chunk.panels(), panels_per_group);
        const int64_t parts = std::min({groups, most_parts, divide_up(tasks_of_chunk, blocks)});
        prepare(column, columns, chunk.panels() * plan.width, parts);
        execution.parallel_for(blocks * parts, [&](int64_t task) {
            const int64_t first_row = task / parts * plan.block_rows, part = task % parts;
            const int64_t rows = std::min(plan.block_rows, a.count - first_row);
            const Borrowed<Block<T>> memory;
            const PackedRows<T> block = memory->pack(a, first_row, rows, chunk.slots(), traits);
            for (int64_t g = part * groups / parts; g < (part + 1) * groups / parts; ++g) {
                execution.check();
                const int64_t panel = g * panels_per_group;
                const int64_t panels = std::min<int64_t>(panels_per_group, chunk.panels() - panel);
                visit(block, first_row, chunk.group(panel, panels), column, panel * plan.width, part);
            }
        });
        finish(parts);
    }
}

template <class T>
void fill_block(const RowsView& a, const RowsView& b, const KernelParameters& parameters, T* out,
                int64_t stride, bool symmetric, Execution& execution) {
    const auto& tiles = tile_functions<T>();
    const Borrowed<Workspace<T>> space;
    for_each_group<T>(
        space->chunk, a, b, parameters, INT64_MAX, execution, [](int64_t, int64_t, int64_t, int64_t) {},
        [&](const PackedRows<T>& block, int64_t first_row, const PackedPanels<T>& panels, int64_t chunk_column,
            int64_t column, int64_t) {
            column += chunk_column;
            Sink<T> sink{};
            sink.block = out + first_row * stride + column;
            sink.block_stride = stride;
            sink.skip_below = symmetric ? column - first_row : block.rows;
            tiles.evaluate(parameters, a.is_sparse, block, panels, sink);
        },
        [](int64_t) {});
}

}  // namespace

template <class T>
void block(const RowsView& a, const RowsView& b, const KernelParameters& parameters, T* out,
           int64_t stride, Execution& execution) {
    fill_block(a, b, parameters, out, stride, false, execution);
}

template <class T>
void symmetric_block(const RowsView& a, const KernelParameters& parameters, T* out, int64_t stride,
                     Execution& execution) {
    fill_block(a, a, parameters, out, stride, true, execution);
    constexpr int64_t side = 64;  // the upper triangle, square by square, into the lower
    const int64_t squares = divide_up(a.count, side);
    execution.parallel_for(squares, [&](int64_t s) {
        const int64_t end = std::min(a.count, (s + 1) * side);
        for (int64_t column = 0; column < s * side; column += side)
            vector_loops<T>().transpose(out + column * stride + s * side, side, end - s * side, stride,
                                        out + s * side * stride + column);
        for (int64_t i = s * side; i < end; ++i)
            for (int64_t j = s * side; j < i; ++j) out[i * stride + j] = out[j * stride + i];
    });
}

template <class T>
void product(const RowsView& a, const RowsView& b, const KernelParameters& parameters,
             const double* coefficients, int columns, double* out, Execution& execution) {
    const auto& tiles = tile_functions<T>();
    const Borrowed<Workspace<T>> space;
    const int64_t size = a.count * columns;
    // one column is read with the panel's stride, many in rows of whole vectors
    const int lane_count = tiles.dense_panel_width / 2;
    const int stride = columns == 1 ? 1 : int(divide_up(columns, lane_count) * lane_count);
    const int64_t most_parts = std::max<int64_t>(1, (int64_t(1) << 20) / std::max<int64_t>(1, size));
    T* packed = nullptr;
    double* partial = nullptr;

    set_to_zero(out, size, execution);
    for_each_group<T>(
        space->chunk, a, b, parameters, most_parts, execution,
        [&](int64_t first, int64_t count, int64_t padded, int64_t parts) {
            packed = space->coefficients.reserve(padded * stride);
            std::fill(packed, packed + padded * stride, T(0));
            for (int64_t j = 0; j < count; ++j)
                for (int c = 0; c < columns; ++c)
                    packed[j * stride + c] = T(coefficients[(first + j) * columns + c]);
            partial = parts == 1 ? out : space->partial.reserve(parts * size);
            if (parts > 1) std::fill(partial, partial + parts * size, 0.0);
        },
        [&](const PackedRows<T>& block, int64_t first_row, const PackedPanels<T>& panels, int64_t,
            int64_t column, int64_t part) {
            Sink<T> sink{};
            sink.coefficients = packed + column * stride;
            sink.coefficient_columns = columns;
            sink.coefficient_stride = stride;
            sink.sums = partial + part * size + first_row * columns;
            sink.sums_stride = columns;
            const Borrowed<Buffer<T>> running;
            if (columns > 1) sink.running = running->reserve(block.rows * stride);
            tiles.evaluate(parameters, a.is_sparse, block, panels, sink);
        },
        [&](int64_t parts) {
            if (parts == 1) return;
            for (int64_t part = 0; part < parts; ++part)
                for (int64_t i = 0; i < size; ++i) out[i] += partial[part * size + i];
        });
}

// A block of rows against the panels of a chunk from the diagonal on. `of_chunk` stands at the chunk's first column.
template <class T>
void add_symmetric(const RowsView& a, const KernelParameters& parameters, const PackedRows<T>& block, int64_t first_row,
                   Chunk<T>& chunk, int64_t chunk_column, int width, const Sink<T>& of_chunk, Execution& execution) {
    for (int64_t panel = std::max<int64_t>(0, first_row - chunk_column) / width; panel < chunk.panels();
         panel += panels_per_group) {
        execution.check();
        const int64_t panels = std::min<int64_t>(panels_per_group, chunk.panels() - panel), column = panel * width;
        Sink<T> sink = of_chunk;
        sink.skip_below = chunk_column + column - first_row;
        sink.coefficients += column;
        sink.column_sums += column;
        tile_functions<T>().evaluate(parameters, a.is_sparse, block, chunk.group(panel, panels), sink);
    }
}

// Each part of the blocks sums its columns in a place of its own; the places are added up in order.
template <class T>
void symmetric_product(const RowsView& a, const KernelParameters& parameters, const double* coefficients,
                       double* out, Execution& execution) {
    const Borrowed<Workspace<T>> space;
    const Plan<T> plan(a, a);
    const int64_t blocks = divide_up(a.count, plan.block_rows), parts = std::min(blocks, tasks_of_chunk);
    const KernelTraits traits = traits_of(parameters);
    T* packed = space->coefficients.reserve(divide_up(a.count, plan.width) * plan.width);
    std::transform(coefficients, coefficients + a.count, packed, [](double c) { return T(c); });
    std::fill(packed + a.count, packed + divide_up(a.count, plan.width) * plan.width, T(0));
    set_to_zero(out, a.count, execution);

    for (int64_t column = 0; column < a.count; column += plan.chunk_columns) {
        const int64_t columns = std::min(plan.chunk_columns, a.count - column);
        space->chunk.pack(a, column, columns, a.is_sparse, plan.width, traits, execution);
        const int64_t padded = space->chunk.panels() * plan.width;
        double* partial = space->partial.reserve(parts * padded);
        std::fill(partial, partial + parts * padded, 0.0);
        execution.parallel_for(parts, [&](int64_t part) {
            const Borrowed<Block<T>> memory;
            for (int64_t first_row = part * plan.block_rows; first_row < std::min(a.count, column + columns);
                 first_row += parts * plan.block_rows) {
                const int64_t rows = std::min(plan.block_rows, a.count - first_row);
                const PackedRows<T> block = memory->pack(a, first_row, rows, space->chunk.slots(), traits);
                Sink<T> sink{};
                sink.coefficients = packed + column;
                sink.coefficient_columns = sink.coefficient_stride = 1;
                sink.sums = out + first_row;
                sink.sums_stride = 1;
                sink.row_coefficients = packed + first_row;
                sink.column_sums = partial + part * padded;
                add_symmetric(a, parameters, block, first_row, space->chunk, column, plan.width, sink, execution);
            }
        });
        for (int64_t part = 0; part < parts; ++part)
            for (int64_t j = 0; j < columns; ++j) out[column + j] += partial[part * padded + j];
    }
}

template <class T>
void add_rows(const T* stored, int64_t stride, const int64_t* rows, const double* weights, int count,
              int64_t columns, double* gradient, Execution& execution) {
    constexpr int64_t part = 1 << 12;
    constexpr int rows_at_a_time = 256;
    std::vector<const T*> row(static_cast<size_t>(count));
    for (int t = 0; t < count; ++t) row[size_t(t)] = stored + rows[t] * stride;
    execution.parallel_for(divide_up(columns, part), [&](int64_t p) {
        const int64_t begin = p * part, end = std::min(columns, begin + part);
        for (int t = 0; t < count; t += rows_at_a_time) {
            execution.check();
            vector_loops<T>().add_rows(row.data() + t, weights + t, std::min(rows_at_a_time, count - t), begin, end,
                                       gradient);
        }
    });
}

void norms(const RowsView& view, int power, bool single_precision, double* out, Execution& execution) {
    const int64_t part = rows_of_a_pass(view);
    auto term = [power](double x) { return power == 2 ? x * x : std::abs(x); };
    execution.parallel_for(divide_up(view.count, part), [&](int64_t p) {
        for (int64_t i = p * part; i < std::min(view.count, (p + 1) * part); ++i) {
            double sum = 0;
            if (view.is_sparse)
                each_stored_of(view, i, [&](int64_t feature, int64_t position) {
                    const double x = centred_value(view, feature, position);
                    sum += term(single_precision ? double(float(x)) : x);
                });
            else
                for (int64_t k = 0; k < view.columns; ++k) {
                    const double x = centred_value(view, k, i * view.stride + k);
                    sum += term(single_precision ? double(float(x)) : x);  // as the tiles will see it
                }
            out[i] = sum;
        }
    });
}

namespace {

std::vector<InstructionSet> instruction_sets_of_this_cpu() {
    std::vector<InstructionSet> sets{{"baseline", &baseline::tile_table(), &baseline::loop_table()}};
#if defined(FWSVM_HAS_X86_VARIANTS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        sets.push_back({"avx2", &avx2::tile_table(), &avx2::loop_table()});
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
            sets.push_back({"avx512", &avx512::tile_table(), &avx512::loop_table()});
    }
#endif
    return sets;
}

InstructionSet choose_instruction_set() {
    const auto sets = instruction_sets_of_this_cpu();
    const char* wanted = std::getenv("FWSVM_ISA");
    if (!wanted || !*wanted) return sets.back();
    for (const auto& set : sets)
        if (set.name == wanted) return set;
    throw std::runtime_error("FWSVM_ISA=" + std::string(wanted) + " is not an instruction set of this CPU and build. "
                             "Possible here: " + available_instruction_sets() + ".");
}

}  // namespace

const InstructionSet& instruction_set() {
    static const InstructionSet chosen = choose_instruction_set();
    return chosen;
}

std::string available_instruction_sets() {
    std::string names;
    for (const auto& set : instruction_sets_of_this_cpu()) names += (names.empty() ? "" : ", ") + set.name;
    return names;
}

#define FWSVM_INSTANTIATE(T)                                                                            \
    template void block<T>(const RowsView&, const RowsView&, const KernelParameters&, T*, int64_t, Execution&); \
    template void symmetric_block<T>(const RowsView&, const KernelParameters&, T*, int64_t, Execution&);        \
    template void product<T>(const RowsView&, const RowsView&, const KernelParameters&, const double*, int,     \
                             double*, Execution&);                                                              \
    template void symmetric_product<T>(const RowsView&, const KernelParameters&, const double*, double*, Execution&); \
    template void add_rows<T>(const T*, int64_t, const int64_t*, const double*, int, int64_t, double*, Execution&);
FWSVM_INSTANTIATE(float)
FWSVM_INSTANTIATE(double)
#undef FWSVM_INSTANTIATE

}  // namespace fwsvm
