// Finds the authority that a registry of packages stands on, where it is not one of those that Node.js knows.
import { once } from 'node:events'
import tls from 'node:tls'

/**
 * The certificate (PEM) of the authority, empty when Node.js knows it. It may be one of NODE_EXTRA_CA_CERTS. Rejects when this
 * process does not trust the registry.
 */
export async function authorityOf(registry: string): Promise<string> {
  const { hostname, port, protocol } = new URL(registry)
  if (protocol !== 'https:') return ''
  const socket = tls.connect({ host: hostname, port: Number(port || 443), servername: hostname })
  await once(socket, 'secureConnect')
  let certificate = socket.getPeerCertificate(true)
  socket.destroy()
  // The authority itself is signed by its own key.
  while (certificate.issuerCertificate.fingerprint256 !== certificate.fingerprint256) {
    certificate = certificate.issuerCertificate
  }
  const lines = certificate.raw.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()
  const pem = `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----`
  return tls.rootCertificates.some((known) => known.trim() === pem) ? '' : pem
}
