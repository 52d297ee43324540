#include "equal_rows.hpp"

#include <cstring>
#include <vector>

#include "packing.hpp"

namespace fwsvm {
namespace {

struct Bytes {
    const char* data;
    size_t size;
};

Bytes part_of(const void* array, int64_t begin, int64_t end, size_t item) {
    return {static_cast<const char*>(array) + begin * int64_t(item), size_t(end - begin) * item};
}

// What a row stores: its values, and for CSR the feature of each.
struct StoredRow {
    Bytes values, features;

    StoredRow(const RowsView& view, int64_t row) {
        const size_t value = view.is_double ? sizeof(double) : sizeof(float);
        if (!view.is_sparse) {
            values = part_of(view.values, row * view.stride, row * view.stride + view.columns, value);
            features = {nullptr, 0};
            return;
        }
        int64_t begin, end;
        if (view.has_wide_indices) {
            const auto* starts = static_cast<const int64_t*>(view.row_starts);
            begin = starts[row], end = starts[row + 1];
        } else {
            const auto* starts = static_cast<const int32_t*>(view.row_starts);
            begin = starts[row], end = starts[row + 1];
        }
        values = part_of(view.values, begin, end, value);
        features = part_of(view.indices, begin, end, view.has_wide_indices ? sizeof(int64_t) : sizeof(int32_t));
    }
};

bool equal(const Bytes& a, const Bytes& b) {
    return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

// Multiplies and mixes, eight bytes at a time.
uint64_t mixed_with(uint64_t hash, const Bytes& bytes) {
    for (size_t position = 0; position < bytes.size; position += 8) {
        uint64_t word = 0;
        const size_t left = bytes.size - position;
        std::memcpy(&word, bytes.data + position, left < 8 ? left : 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

void first_equal_rows(const RowsView& view, int64_t* first, Execution& execution) {
    const int64_t part = rows_of_a_pass(view);
    // The hashes stand where the results will.
    execution.parallel_for(divide_up(view.count, part), [&](int64_t p) {
        for (int64_t i = p * part; i < std::min(view.count, (p + 1) * part); ++i) {
            const StoredRow row(view, i);
            first[i] = int64_t(mixed_with(mixed_with(view.is_sparse, row.features), row.values));
        }
    });

    int bits = 4;
    while ((int64_t(3) << bits) < 4 * view.count) ++bits;
    constexpr int64_t empty = -1;
    std::vector<int64_t> table(size_t(1) << bits, empty);
    const size_t mask = table.size() - 1;
    for (int64_t i = 0; i < view.count; ++i) {
        if (i % part == 0) execution.check();
        const StoredRow row(view, i);
        size_t place = uint64_t(first[i]) >> (64 - bits);
        for (;; place = (place + 1) & mask) {
            if (table[place] == empty) {
                table[place] = first[i] = i;
                break;
            }
            const StoredRow other(view, table[place]);
            if (equal(row.values, other.values) && equal(row.features, other.features)) {
                first[i] = table[place];
                break;
            }
        }
    }
}

}  // namespace fwsvm
