type Trouble = { codes: string; what: string; todo: string };

/** What codes of errors of the network mean. */
const TROUBLES: readonly Trouble[] = [
  {
    codes: "ENOTFOUND EAI_AGAIN",
    what: "this machine doesn't know the host's name",
    todo: "Correct the name, or this machine's DNS.",
  },
  {
    codes: "EHOSTUNREACH ENETUNREACH ETIMEDOUT UND_ERR_CONNECT_TIMEOUT",
    what: "no answer comes from there",
    todo: "Check the address, the firewalls between, and HTTPS_PROXY.",
  },
  {
    codes: "ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG EPROTO",
    what: "there is no TLS at that port",
    todo: "Correct the port, or use the address without TLS.",
  },
  {
    codes:
      "DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE " +
      "UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    what: "this machine doesn't trust whoever signed its certificate",
    todo: "Start with NODE_EXTRA_CA_CERTS set to a file with the signer's certificate.",
  },
  {
    codes: "CERT_HAS_EXPIRED CERT_NOT_YET_VALID",
    what: "its certificate isn't valid at this machine's time",
    todo: "Renew the certificate, or set this machine's clock.",
  },
  {
    codes: "ERR_TLS_CERT_ALTNAME_INVALID",
    what: "its certificate is for another name",
    todo: "Use the name that the certificate has.",
  },
  {
    codes: "ERR_PROXY_CONNECT",
    what: "the proxy opens no way there",
    todo: "Correct HTTPS_PROXY, or name the host in NO_PROXY.",
  },
];

/** What an error's code says of a connection, and what to do. Null if it says nothing special. */
export function networkTrouble(code: string): Pick<Trouble, "what" | "todo"> | null {
  return TROUBLES.find(({ codes }) => codes.split(" ").includes(code)) ?? null;
}
