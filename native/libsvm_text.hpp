// Reads LIBSVM text, "label index:value index:value ...", into the arrays of CSR data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fwsvm {

// Says the line and shows the text that is at fault.
struct MalformedText : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

template <class T> struct ParsedRows {
    std::vector<T> values;
    std::vector<int32_t> indices;
    std::vector<int64_t> row_starts{0};
    std::vector<double> labels;
};

// Takes text in pieces of any size; a line may span pieces.
template <class T> class LibsvmParser {
  public:
    // The index of the first feature is 0 or 1; features from `most_features` on are an error.
    LibsvmParser(bool zero_based, int64_t most_features);
    // Reads text[0, size) until that many rows are held; returns how much of it was used.
    size_t feed(const char* text, size_t size, int64_t most_rows);
    void finish();  // the last line may lack its end
    int64_t held_rows() const { return int64_t(rows_.labels.size()); }
    int64_t features() const { return features_; }  // of all rows so far
    ParsedRows<T> take();

  private:
    void parse_line(const char* begin, const char* end);
    void parse_label(const char* begin, const char* end);
    int64_t parse_index(const char*& place, const char* token, const char* end) const;
    [[noreturn]] void fail(const char* token, const char* end, const std::string& expected) const;

    bool zero_based_;
    int64_t most_features_, features_ = 0, line_ = 0;
    std::string unfinished_;  // the begin of a line whose end has not come
    ParsedRows<T> rows_;
};

}  // namespace fwsvm
