// SPDX-License-Identifier: Apache-2.0
/* Debian's libcurl.a is built with protocols that lib/net/http.c never allows (its
 * CURLOPT_PROTOCOLS_STR). Its table of protocols refers to each of them, so the linker needs their
 * libraries' functions, even with --gc-sections. The real libraries would add code that is never
 * called, and Debian has no static Kerberos. These stubs take their place; a call of one is a bug
 * of ours, which ends the program with a message. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Noreturn void stop(const char *name) {
    dprintf(STDERR_FILENO, "windlass-shim: bug: %s was called but is not part of this program\n",
            name);
    abort();
}

#define ABSENT(name)                                                                               \
    _Noreturn void name(void);                                                                     \
    _Noreturn void name(void) {                                                                    \
        stop(#name);                                                                               \
    }

/* Kerberos: curl_gssapi, curl_sasl, krb5, spnego_gssapi and socks_gssapi.o. Debian has no archive.
 */
ABSENT(gss_delete_sec_context)
ABSENT(gss_display_name)
ABSENT(gss_display_status)
ABSENT(gss_import_name)
ABSENT(gss_init_sec_context)
ABSENT(gss_inquire_context)
ABSENT(gss_release_buffer)
ABSENT(gss_release_name)
ABSENT(gss_unwrap)
ABSENT(gss_wrap)

/* LDAP: openldap.o, and version.o. The archive needs GnuTLS and SASL. */
ABSENT(ber_bvfree)
ABSENT(ber_free)
ABSENT(ber_memfree)
ABSENT(ber_memvfree)
ABSENT(ber_sockbuf_add_io)
ABSENT(ldap_abandon_ext)
ABSENT(ldap_err2string)
ABSENT(ldap_free_urldesc)
ABSENT(ldap_get_attribute_ber)
ABSENT(ldap_get_dn_ber)
ABSENT(ldap_get_option)
ABSENT(ldap_init_fd)
ABSENT(ldap_memfree)
ABSENT(ldap_msgfree)
ABSENT(ldap_msgtype)
ABSENT(ldap_parse_result)
ABSENT(ldap_parse_sasl_bind_result)
ABSENT(ldap_pvt_url_scheme2proto)
ABSENT(ldap_result)
ABSENT(ldap_sasl_bind)
ABSENT(ldap_search_ext)
ABSENT(ldap_set_option)
ABSENT(ldap_start_tls)
ABSENT(ldap_unbind_ext)
ABSENT(ldap_url_parse)

/* RTMP: curl_rtmp.o. The archive needs GnuTLS, nettle and GMP. */
ABSENT(RTMP_Alloc)
ABSENT(RTMP_Close)
ABSENT(RTMP_Connect1)
ABSENT(RTMP_ConnectStream)
ABSENT(RTMP_Free)
ABSENT(RTMP_Init)
ABSENT(RTMP_Read)
ABSENT(RTMP_SetBufferMS)
ABSENT(RTMP_SetupURL)
ABSENT(RTMP_Write)

/* SCP and SFTP: libssh2.o. */
ABSENT(libssh2_agent_connect)
ABSENT(libssh2_agent_disconnect)
ABSENT(libssh2_agent_free)
ABSENT(libssh2_agent_get_identity)
ABSENT(libssh2_agent_init)
ABSENT(libssh2_agent_list_identities)
ABSENT(libssh2_agent_userauth)
ABSENT(libssh2_channel_free)
ABSENT(libssh2_channel_read_ex)
ABSENT(libssh2_channel_send_eof)
ABSENT(libssh2_channel_wait_closed)
ABSENT(libssh2_channel_wait_eof)
ABSENT(libssh2_channel_write_ex)
ABSENT(libssh2_hostkey_hash)
ABSENT(libssh2_knownhost_add)
ABSENT(libssh2_knownhost_checkp)
ABSENT(libssh2_knownhost_del)
ABSENT(libssh2_knownhost_free)
ABSENT(libssh2_knownhost_get)
ABSENT(libssh2_knownhost_init)
ABSENT(libssh2_knownhost_readfile)
ABSENT(libssh2_knownhost_writefile)
ABSENT(libssh2_scp_recv2)
ABSENT(libssh2_scp_send64)
ABSENT(libssh2_session_abstract)
ABSENT(libssh2_session_block_directions)
ABSENT(libssh2_session_callback_set)
ABSENT(libssh2_session_disconnect_ex)
ABSENT(libssh2_session_flag)
ABSENT(libssh2_session_free)
ABSENT(libssh2_session_handshake)
ABSENT(libssh2_session_hostkey)
ABSENT(libssh2_session_init_ex)
ABSENT(libssh2_session_last_errno)
ABSENT(libssh2_session_last_error)
ABSENT(libssh2_session_method_pref)
ABSENT(libssh2_session_set_blocking)
ABSENT(libssh2_sftp_close_handle)
ABSENT(libssh2_sftp_init)
ABSENT(libssh2_sftp_last_error)
ABSENT(libssh2_sftp_mkdir_ex)
ABSENT(libssh2_sftp_open_ex)
ABSENT(libssh2_sftp_read)
ABSENT(libssh2_sftp_readdir_ex)
ABSENT(libssh2_sftp_rename_ex)
ABSENT(libssh2_sftp_rmdir_ex)
ABSENT(libssh2_sftp_seek64)
ABSENT(libssh2_sftp_shutdown)
ABSENT(libssh2_sftp_stat_ex)
ABSENT(libssh2_sftp_statvfs)
ABSENT(libssh2_sftp_symlink_ex)
ABSENT(libssh2_sftp_unlink_ex)
ABSENT(libssh2_sftp_write)
ABSENT(libssh2_userauth_authenticated)
ABSENT(libssh2_userauth_keyboard_interactive_ex)
ABSENT(libssh2_userauth_list)
ABSENT(libssh2_userauth_password_ex)
ABSENT(libssh2_userauth_publickey_fromfile_ex)

/* The list of public suffixes, for cookies, which are never kept: psl.o and cookie.o. */
ABSENT(psl_builtin)
ABSENT(psl_free)
ABSENT(psl_get_version)
ABSENT(psl_is_cookie_domain_acceptable)
ABSENT(psl_latest)

/* Kerberos: the type of a server's name. */
extern const void *const GSS_C_NT_HOSTBASED_SERVICE;
const void *const GSS_C_NT_HOSTBASED_SERVICE = NULL;

/* libcurl calls these at its start and end and for its version string, so they must return. */
int libssh2_init(int flags);
int libssh2_init(int flags) {
    (void)flags;
    return 0;
}

void libssh2_exit(void);
void libssh2_exit(void) {
}

const char *libssh2_version(int wanted);
const char *libssh2_version(int wanted) {
    (void)wanted;
    return "absent";
}
