#include "libsvm_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "decimal_text.hpp"

namespace fwsvm {
namespace {

constexpr int64_t largest_index = std::numeric_limits<int32_t>::max() - 1;
constexpr double beyond_exact_integers = 9007199254740992.0;  // 2^53

bool is_blank(char c) { return c == ' ' || c == '\t'; }

const char* skip_blanks(const char* p, const char* end) {
    while (p < end && is_blank(*p)) ++p;
    return p;
}

const char* end_of_token(const char* p, const char* end) {
    while (p < end && !is_blank(*p)) ++p;
    return p;
}

const char* find(const char* begin, const char* end, char c) {
    const void* place = begin < end ? std::memchr(begin, c, size_t(end - begin)) : nullptr;
    return place ? static_cast<const char*>(place) : end;
}

// The token at p as it can be printed: what is not plain ASCII as \x.., cut when long.
std::string quoted(const char* p, const char* end) {
    constexpr size_t longest = 60;
    const char* token_end = end_of_token(p, end);
    std::string text = "\"";
    for (; p < token_end && text.size() <= longest; ++p) {
        static const char* hexadecimals = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(*p);
        if (byte >= 0x20 && byte < 0x7f) text += *p;
        else text += {'\\', 'x', hexadecimals[byte >> 4], hexadecimals[byte & 15]};
    }
    return text + (p < token_end ? "...\"" : "\"");
}

}  // namespace

template <class T>
LibsvmParser<T>::LibsvmParser(bool zero_based, int64_t most_features)
    : zero_based_(zero_based), most_features_(most_features) {}

template <class T> size_t LibsvmParser<T>::feed(const char* text, size_t size, int64_t most_rows) {
    const char *p = text, *end = text + size;
    while (p < end && held_rows() < most_rows) {
        const char* line_end = find(p, end, '\n');
        if (line_end == end) {
            unfinished_.append(p, end);
            return size;
        }
        if (unfinished_.empty()) {
            parse_line(p, line_end);
        } else {
            unfinished_.append(p, line_end);
            const std::string line = std::exchange(unfinished_, {});
            parse_line(line.data(), line.data() + line.size());
        }
        p = line_end + 1;
    }
    return size_t(p - text);
}

template <class T> void LibsvmParser<T>::finish() {
    const std::string line = std::exchange(unfinished_, {});
    if (!line.empty()) parse_line(line.data(), line.data() + line.size());
}

template <class T> ParsedRows<T> LibsvmParser<T>::take() { return std::exchange(rows_, {}); }

template <class T> void LibsvmParser<T>::parse_line(const char* begin, const char* end) {
    ++line_;
    if (end > begin && end[-1] == '\r') --end;
    end = find(begin, end, '#');
    const char* p = skip_blanks(begin, end);
    if (p == end) return;
    parse_label(p, end);
    int64_t last = -1;
    for (p = skip_blanks(end_of_token(p, end), end); p < end; p = skip_blanks(p, end)) {
        const char* token = p;
        const int64_t index = parse_index(p, token, end);
        if (index <= last)
            fail(token, end, index == last ? "each index once in a line" : "indices in increasing order");
        last = index;
        const Decimal value = read_decimal(p, end);
        if (value.kind == DecimalKind::malformed || (value.end < end && !is_blank(*value.end)))
            fail(token, end, "index:value with a finite decimal number");
        if (value.kind == DecimalKind::too_large || !std::isfinite(T(value.value)))
            fail(token, end, sizeof(T) == 4 ? "a value within float32 (dtype=numpy.float64 reads larger ones)"
                                            : "a value within float64");
        p = value.end;
        rows_.indices.push_back(int32_t(index));
        rows_.values.push_back(T(value.value));
    }
    features_ = std::max(features_, last + 1);
    rows_.row_starts.push_back(int64_t(rows_.values.size()));
}

template <class T> void LibsvmParser<T>::parse_label(const char* begin, const char* end) {
    const Decimal label = read_decimal(begin, end);
    const bool is_whole_token = label.end == end || is_blank(*label.end);
    if (label.kind != DecimalKind::finite || !is_whole_token) fail(begin, end, "a finite number as the label");
    const auto is_digit_or_sign = [](char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+'; };
    if (std::fabs(label.value) >= beyond_exact_integers && std::all_of(begin, label.end, is_digit_or_sign))
        fail(begin, end, "an integer label below 2^53, which is held exactly");
    rows_.labels.push_back(label.value);
}

// Reads "index:" and leaves the place behind it.
template <class T> int64_t LibsvmParser<T>::parse_index(const char*& place, const char* token, const char* end) const {
    const char* p = token;
    int64_t index = 0;
    for (; p < end && *p >= '0' && *p <= '9' && index <= largest_index; ++p) index = index * 10 + (*p - '0');
    if (end - token >= 4 && std::memcmp(token, "qid:", 4) == 0)
        fail(token, end, "features only (qid belongs to ranking, which fwsvm does not do)");
    if (index > largest_index) fail(token, end, "an index up to " + std::to_string(largest_index));
    if (p == token || p == end || *p != ':') fail(token, end, "index:value with a whole number before the colon");
    place = p + 1;
    if (!zero_based_ && index == 0) fail(token, end, "indices from 1 (zero_based=True reads a file that counts from 0)");
    index -= !zero_based_;
    if (index >= most_features_) fail(token, end, "at most n_features=" + std::to_string(most_features_) + " features");
    return index;
}

template <class T>
void LibsvmParser<T>::fail(const char* token, const char* end, const std::string& expected) const {
    throw MalformedText("line " + std::to_string(line_) + ": expected " + expected + ", got " + quoted(token, end));
}

template class LibsvmParser<float>;
template class LibsvmParser<double>;

}  // namespace fwsvm
