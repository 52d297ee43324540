// Decimal text to the nearest double, the same in every locale.
#pragma once

#include <cstdint>

namespace fwsvm {

enum class DecimalKind { finite, too_large, malformed };

struct Decimal {
    DecimalKind kind;
    double value;     // when finite
    const char* end;  // where it stops
};

// Any number, after its form was checked; without sign.
Decimal read_long_decimal(const char* begin, const char* end);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads [+-]digits[.digits][e[+-]digits] at the begin of [begin, end). No infinities, no hexadecimals.
inline Decimal read_decimal(const char* begin, const char* end) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char* p = begin;
    const bool is_negative = p < end && *p == '-';
    if (is_negative || (p < end && *p == '+')) ++p;
    const char* const first = p;
    uint64_t digits = 0;
    for (; p < end && is_digit(*p); ++p) digits = digits * 10 + uint64_t(*p - '0');
    int64_t count = p - first, exponent = 0;
    if (p < end && *p == '.') {
        const char* const after_point = ++p;
        for (; p < end && is_digit(*p); ++p) digits = digits * 10 + uint64_t(*p - '0');
        exponent = after_point - p;
        count -= exponent;
    }
    if (count == 0) return {DecimalKind::malformed, 0, begin};
    if (p < end && (*p == 'e' || *p == 'E')) {
        const bool is_small = ++p < end && *p == '-';
        if (is_small || (p < end && *p == '+')) ++p;
        if (p == end || !is_digit(*p)) return {DecimalKind::malformed, 0, begin};
        int64_t power = 0;
        for (; p < end && is_digit(*p); ++p)
            if (power < int64_t(1) << 50) power = power * 10 + (*p - '0');
        exponent += is_small ? -power : power;
    }
    // Both factors are exact, so that one operation rounds once (Clinger 1990); most text is so short.
    if (count <= 19 && digits <= uint64_t(1) << 53 && exponent >= -22 && exponent <= 22) {
        const double value = exponent < 0 ? double(digits) / powers[-exponent] : double(digits) * powers[exponent];
        return {DecimalKind::finite, is_negative ? -value : value, p};
    }
    Decimal decimal = read_long_decimal(first, p);
    if (is_negative) decimal.value = -decimal.value;
    return decimal;
}

}  // namespace fwsvm
