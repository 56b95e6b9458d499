// SPDX-License-Identifier: Apache-2.0
// 64- and 128-bit integers: multiplication, quotients by constants and by variables, carries, shifts.

extern "C" __global__ void sixty_four(long long* s, unsigned long long* u) {
    const int i = threadIdx.x;
    s[i] = s[i] / s[i + 32] + s[i] % s[i + 32] + s[i] / 1000003 + (s[i] >> 7) - (s[i] << 3);
    u[i] = u[i] / u[i + 32] + u[i] % 97 + (u[i] >> (u[i + 32] & 63)) + __umul64hi(u[i], u[i + 32]);
    s[i + 64] = s[i] < s[i + 32] ? -s[i] : ~s[i + 32];
}

extern "C" __global__ void hundred_twenty_eight(__int128* s, unsigned __int128* u) {
    const int i = threadIdx.x;
    const unsigned __int128 a = u[i], b = u[i + 32];
    u[i] = a * b + (a >> 17) - (b << 90) + (a & ~b);
    u[i + 32] = a / b + a % 1000000007u;
    s[i] = s[i] < 0 ? -s[i] : s[i] / static_cast<__int128>(s[i + 32]);
}

extern "C" __global__ void montgomery(unsigned long long* x, unsigned long long modulus, unsigned long long inverse) {
    const unsigned __int128 product = static_cast<unsigned __int128>(x[threadIdx.x]) * x[threadIdx.x + 32];
    const unsigned long long m = static_cast<unsigned long long>(product) * inverse;
    const unsigned __int128 reduced = product + static_cast<unsigned __int128>(m) * modulus;
    unsigned long long result = static_cast<unsigned long long>(reduced >> 64);
    if (result >= modulus) result -= modulus;
    x[threadIdx.x] = result;
}

extern "C" __global__ void divisions_by_constants(int* s, unsigned* u, short* h, unsigned char* b) {
    const int i = threadIdx.x;
    s[i] = s[i] / 7 + s[i] % 10 + s[i] / 16 + s[i] / -3;
    u[i] = u[i] / 7u + u[i] % 641u + u[i] / s[i];
    h[i] = static_cast<short>(h[i] / 5 + h[i] % 3);
    b[i] = static_cast<unsigned char>(b[i] / 11 + (b[i] << 3));
}
