/* Copying and comparing for the published Linux programs: in musl on this processor comparing takes a byte at a time, and copying a few bytes
 * as long as copying two hundred. Elsewhere musl's own are used. */
#ifdef __x86_64__
#include <stddef.h>
#include <stdint.h>

typedef long long chunk __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef uint32_t half __attribute__((aligned(1), may_alias));
typedef uint16_t quarter __attribute__((aligned(1), may_alias));

/* At most 32 bytes: both ends are read before anything is written, so that they may overlap. */
static inline void *move_short(unsigned char *to, const unsigned char *from, size_t n) {
  if (n >= 16) {
    chunk first = *(const chunk *)from, last = *(const chunk *)(from + n - 16);
    *(chunk *)to = first;
    *(chunk *)(to + n - 16) = last;
  } else if (n >= 8) {
    word first = *(const word *)from, last = *(const word *)(from + n - 8);
    *(word *)to = first;
    *(word *)(to + n - 8) = last;
  } else if (n >= 4) {
    half first = *(const half *)from, last = *(const half *)(from + n - 4);
    *(half *)to = first;
    *(half *)(to + n - 4) = last;
  } else if (n >= 2) {
    quarter first = *(const quarter *)from, last = *(const quarter *)(from + n - 2);
    *(quarter *)to = first;
    *(quarter *)(to + n - 2) = last;
  } else if (n == 1) {
    *to = *from;
  }
  return to;
}

void *memmove(void *target, const void *source, size_t n) {
  unsigned char *to = target;
  const unsigned char *from = source;
  if (n <= 32) return move_short(to, from, n);
  chunk first = *(const chunk *)from, last = *(const chunk *)(from + n - 16);
  uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;
  if (ahead >= n) {
    /* If the two ranges are close, the processor copies them a byte at a time. */
    if (n >= 1024 && -ahead >= n) {
      unsigned char *at = to;
      size_t words = n / 8;
      __asm__ volatile("rep movsq" : "+D"(at), "+S"(from), "+c"(words) : : "memory");
      *(chunk *)(to + n - 16) = last;
      return to;
    }
    for (size_t at = 16; at < n - 16; at += 16) {
      chunk next = *(const chunk *)(from + at);
      *(chunk *)(to + at) = next;
    }
  } else {
    for (size_t at = n - 16; at > 16; at -= 16) {
      chunk next = *(const chunk *)(from + at - 16);
      *(chunk *)(to + at - 16) = next;
    }
  }
  *(chunk *)to = first;
  *(chunk *)(to + n - 16) = last;
  return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) __attribute__((alias("memmove")));

int memcmp(const void *left, const void *right, size_t n) {
  const unsigned char *a = left, *b = right;
  for (; n >= 8; a += 8, b += 8, n -= 8) {
    uint64_t x = *(const word *)a, y = *(const word *)b;
    if (x != y) return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
  }
  for (; n > 0; a++, b++, n--)
    if (*a != *b) return *a - *b;
  return 0;
}
#endif
