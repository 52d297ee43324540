#include "decimal_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#if defined(__cpp_lib_to_chars) && !defined(FWSVM_PLAIN_DECIMALS)
#define FWSVM_HAS_FROM_CHARS  // of floating point: Apple's library has none
#else
#include <cstdlib>
#include <locale.h>
#include <string>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace fwsvm {
namespace {

#if defined(FWSVM_HAS_FROM_CHARS)

// Whether the first digit that is not zero stands for 1 or more.
bool is_at_least_one(const char* begin, const char* end) {
    const char* const mantissa_end = std::find_if(begin, end, [](char c) { return c == 'e' || c == 'E'; });
    const char* const point = std::find(begin, mantissa_end, '.');
    const char* const first = std::find_if(begin, mantissa_end, [](char c) { return c != '0' && c != '.'; });
    if (first == mantissa_end) return false;
    const int64_t exponent = first < point ? point - first - 1 : point - first;
    int64_t power = 0;
    if (mantissa_end < end) {
        const char* digits = mantissa_end + 1 + (mantissa_end[1] == '+');
        if (std::from_chars(digits, end, power).ec != std::errc()) return *digits != '-';
    }
    return exponent + power >= 0;
}

double nearest_double(const char* begin, const char* end) {
    double value = 0;
    const auto result = std::from_chars(begin, end, value);
    if (result.ec == std::errc()) return value;
    return is_at_least_one(begin, end) ? HUGE_VAL : 0.0;  // out of range is said of both ends
}

#else

double nearest_double(const char* begin, const char* end) {
    const std::string text(begin, end);
#if defined(_WIN32)
    static const _locale_t c_locale = _create_locale(LC_ALL, "C");
    return _strtod_l(text.c_str(), nullptr, c_locale);
#else
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(text.c_str(), nullptr, c_locale);
#endif
}

#endif

}  // namespace

Decimal read_long_decimal(const char* begin, const char* end) {
    const double value = nearest_double(begin, end);
    if (!std::isfinite(value)) return {DecimalKind::too_large, 0, end};
    return {DecimalKind::finite, value, end};
}

}  // namespace fwsvm
