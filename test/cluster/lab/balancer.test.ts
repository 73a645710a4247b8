// Holds the load balancer of the cluster tests against the manifests.
import { expect, it } from 'vitest'
import { ofKind, render } from '../../deploy/kustomize.ts'
import { checks, detectedWithinS, serverLine } from './balancer.ts'

it('the load balancer of the cluster tests takes a gateway out after as many failures as production does', () => {
  const gateway = ofKind(render('production'), 'Deployment').find(
    ({ metadata }) => metadata.name === 'gateway',
  )
  const { readinessProbe } = gateway?.spec.template.spec.containers[0] ?? {}
  expect(readinessProbe).toMatchObject({
    periodSeconds: checks.everyS,
    timeoutSeconds: checks.timeoutS,
    failureThreshold: checks.fall,
  })
  const line = serverLine({ name: 'gateway-1', address: '10.9.0.1' })
  expect(line).toMatch(/^ {2}server gateway-1 10\.9\.0\.1:8080 .* inter 1s fastinter 1ms fall 3 /)
  // As docs/operate/edge.md says.
  expect(detectedWithinS).toBe(4)
})
