# void copy_past_cache(void *target, const void *source, size_t bytes): a copy whose stores go to
# memory and leave nothing in this core's caches. For bytes that another core reads next, or that
# nobody reads soon. Position-independent, SSE2 alone, which every x86-64 processor has.
#
# src/ffi/past-cache.ts carries the assembled bytes; a test holds them against this file.

	.intel_syntax noprefix
	.text
	.globl copy_past_cache
copy_past_cache:
	endbr64
	cmp rdx, 64
	jb 3f
	# Whole lines alone can go past the cache: what lies before the first one is copied plainly.
	mov ecx, edi
	neg ecx
	and ecx, 63
	sub rdx, rcx
	rep movsb
	mov rcx, rdx
	shr rcx, 6
	jz 3f
2:	movdqu xmm0, [rsi]
	movdqu xmm1, [rsi + 16]
	movdqu xmm2, [rsi + 32]
	movdqu xmm3, [rsi + 48]
	movntdq [rdi], xmm0
	movntdq [rdi + 16], xmm1
	movntdq [rdi + 32], xmm2
	movntdq [rdi + 48], xmm3
	add rsi, 64
	add rdi, 64
	dec rcx
	jnz 2b
3:	mov ecx, edx
	and ecx, 63
	rep movsb
	# Such stores may pass each other: whoever is told of the bytes afterwards shall find them.
	sfence
	ret
