/* SPDX-License-Identifier: MIT */
/*
 * The stable error codes.  A program reads the code, a person the sentence
 * beside it; the spelling of a code never changes.  Where each one arises is
 * described in docs/codes.md.
 *
 * CAVE_CODES(X) expands X(SYMBOL, "spelling") for every code.
 */
#ifndef CAVE_CODES_H
#define CAVE_CODES_H

#define CAVE_CODES(X)                                                                              \
	X(CHILD_CONTAINMENT, "cave_sandbox_child_process_containment_unavailable")                 \
	X(EGRESS_UNBOUNDED, "cave_sandbox_network_egress_unbounded")                               \
	X(CREDENTIAL_NOT_ALLOWLISTED, "cave_sandbox_credential_env_not_allowlisted")               \
	X(CREDENTIAL_AMBIGUOUS, "cave_sandbox_credential_capability_ambiguous")                    \
	X(HOST_NESTED, "cave_host_sandbox_nested_under_required")                                  \
	X(HOST_INELIGIBLE, "cave_host_sandbox_lock_ineligible")                                    \
	X(PROFILE_MISSING, "cave_live_eval_sandbox_profile_missing")                               \
	X(PROFILE_INVALID, "cave_live_eval_sandbox_profile_invalid")                               \
	X(PROFILE_ESCAPES_ROOT, "cave_live_eval_sandbox_profile_escapes_root")                     \
	X(READ_ROOT, "cave_sandbox_source_read_root_refused")                                      \
	X(READ_ESCAPES, "cave_sandbox_source_read_grant_escapes_staging")                          \
	X(WIDENS_PARENT, "cave_sandbox_profile_widens_parent")                                     \
	X(SYNTAX, "cave_profile_syntax")                                                           \
	X(UNKNOWN_NAME, "cave_profile_unknown_name")                                               \
	X(VALUE, "cave_profile_value")                                                             \
	X(CONTRADICTION, "cave_profile_contradiction")                                             \
	X(METADATA_ADDRESS, "cave_profile_metadata_address")                                       \
	X(UNSUPPORTED, "cave_profile_unsupported")                                                 \
	X(EXPECTATION_FAILED, "cave_profile_expectation_failed")                                   \
	X(PROOF_FAILED, "cave_profile_proof_failed")                                               \
	X(CREDENTIAL_MISSING, "cave_sandbox_credential_missing")                                   \
	X(NETWORK_UNAVAILABLE, "cave_sandbox_os_network_isolation_unavailable")                    \
	X(POLICY_INVALID, "cave_sandbox_policy_invalid")                                           \
	X(POLICY_UNTRUSTED, "cave_sandbox_policy_untrusted")                                       \
	X(CONFORMANCE_FAILED, "cave_sandbox_conformance_failed")                                   \
	X(TIMEOUT, "cave_sandbox_timeout")                                                         \
	X(OUTPUT_LIMIT, "cave_sandbox_output_limit")                                               \
	X(FAILED, "cave_sandbox_failed")

enum cave_code {
	CAVE_OK = 0,
#define X(symbol, spelling) CAVE_##symbol,
	CAVE_CODES(X)
#undef X
	CAVE_CODE_COUNT
};

/* The spelling of `code`; "" for CAVE_OK. */
static inline const char *cave_code_name(enum cave_code code)
{
	static const char *const names[] = {
		"",
#define X(symbol, spelling) spelling,
		CAVE_CODES(X)
#undef X
	};
	return names[code];
}

#endif
