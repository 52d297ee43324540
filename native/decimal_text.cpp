#include "decimal_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#if !defined(__cpp_lib_to_chars)
#include <cstdlib>
#include <locale.h>
#include <string>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace fwsvm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What was read of the digits: value = digits * 10^exponent, when no digit was left out.
struct Scan {
    uint64_t digits = 0;
    int significant = 0;  // digits since the first that is not zero
    int64_t exponent = 0;
    bool any = false;

    void add(char c, bool after_point) {
        any = true;
        if (significant > 0 || c != '0') ++significant;
        if (significant <= 19) {
            digits = digits * 10 + uint64_t(c - '0');
            exponent -= after_point;
        } else {
            exponent += !after_point;
        }
    }
};

// The standard library's conversion of text that is known to be well formed and without sign.
double nearest_double(const char* begin, const char* end, bool is_large) {
#if defined(__cpp_lib_to_chars)
    double value = 0;
    const auto result = std::from_chars(begin, end, value);
    // Out of range leaves the value alone, be it too large or too small.
    return result.ec == std::errc() ? value : is_large ? HUGE_VAL : 0.0;
#else  // Apple's library has no from_chars of floating point
    (void)is_large;
    const std::string text(begin, end);
#if defined(_WIN32)
    static const _locale_t c_locale = _create_locale(LC_ALL, "C");
    return _strtod_l(text.c_str(), nullptr, c_locale);
#else
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(text.c_str(), nullptr, c_locale);
#endif
#endif
}

// Both factors are exact, so that one operation rounds once (Clinger 1990); most text is so short.
bool exact_product(const Scan& scan, double& value) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (scan.significant > 19 || scan.digits > (uint64_t(1) << 53)) return false;
    if (scan.exponent < -22 || scan.exponent > 22) return scan.digits == 0;
    value = double(scan.digits);
    if (scan.exponent < 0) value /= powers[-scan.exponent];
    else value *= powers[scan.exponent];
    return true;
}

}  // namespace

Decimal read_decimal(const char* begin, const char* end) {
    const char* p = begin;
    const bool is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    const char* unsigned_begin = p;
    Scan scan;
    for (; p < end && is_digit(*p); ++p) scan.add(*p, false);
    if (p < end && *p == '.')
        for (++p; p < end && is_digit(*p); ++p) scan.add(*p, true);
    if (!scan.any) return {DecimalKind::malformed, 0, begin};
    if (p < end && (*p == 'e' || *p == 'E')) {
        const bool is_small = ++p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) ++p;
        if (p == end || !is_digit(*p)) return {DecimalKind::malformed, 0, begin};
        int64_t power = 0;
        for (; p < end && is_digit(*p); ++p)
            if (power < int64_t(1) << 50) power = power * 10 + (*p - '0');
        scan.exponent += is_small ? -power : power;
    }
    double value = 0;
    if (!exact_product(scan, value)) value = nearest_double(unsigned_begin, p, scan.exponent > 0);
    if (!std::isfinite(value)) return {DecimalKind::too_large, 0, p};
    return {DecimalKind::finite, is_negative ? -value : value, p};
}

}  // namespace fwsvm
