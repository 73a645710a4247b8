// What every card form says, in the languages of payers' pages; no markup.
import type { Language } from '#core/text/language.ts'

/** The texts of a card form in one language. `{…}` is filled in. */
export type CardTexts = Readonly<Record<keyof typeof en, string>>

const en = {
  title: 'Pay by card',
  to: 'to {merchant}',
  pay: 'Pay {price}',
  approved: 'Approved',
  approvedText: 'The payment was approved.',
  declined: 'Declined',
  declinedText: 'The card was declined. No money moved.',
  closed: 'Cannot be paid',
  again: 'Try again or use another card',
  proceed: 'Continue',
  unknown: 'Unknown form',
  unknownText: 'There is no such card form. Go back and open it again.',
  already_paid: 'This payment has been paid already.',
  withdrawn: 'This payment has been withdrawn and cannot be paid any more.',
  expired: 'The time to pay has run out.',
  sending: 'One moment…',
  confirm: 'Confirm the payment with your bank.',
  unavailable: 'This payment cannot be made by card here. Pay another way.',
}

const es: CardTexts = {
  title: 'Pagar con tarjeta',
  to: 'a {merchant}',
  pay: 'Pagar {price}',
  approved: 'Aprobado',
  approvedText: 'El pago ha sido aprobado.',
  declined: 'Rechazado',
  declinedText: 'La tarjeta fue rechazada. No se ha realizado ningún cargo.',
  closed: 'No se puede pagar',
  again: 'Intentarlo de nuevo o usar otra tarjeta',
  proceed: 'Continuar',
  unknown: 'Formulario desconocido',
  unknownText: 'Este formulario de tarjeta no existe. Vuelva y ábralo de nuevo.',
  already_paid: 'Este pago ya se ha realizado.',
  withdrawn: 'Esta solicitud de pago se ha retirado y ya no se puede pagar.',
  expired: 'El plazo para pagar ha terminado.',
  sending: 'Un momento…',
  confirm: 'Confirme el pago con su banco.',
  unavailable: 'Este pago no se puede hacer con tarjeta aquí. Pague de otra forma.',
}

const fr: CardTexts = {
  title: 'Payer par carte',
  to: 'à {merchant}',
  pay: 'Payer {price}',
  approved: 'Accepté',
  approvedText: 'Le paiement a été accepté.',
  declined: 'Refusé',
  declinedText: 'La carte a été refusée. Aucun montant n’a été débité.',
  closed: 'Paiement impossible',
  again: 'Réessayer ou utiliser une autre carte',
  proceed: 'Continuer',
  unknown: 'Formulaire inconnu',
  unknownText: 'Ce formulaire de carte n’existe pas. Revenez en arrière et rouvrez-le.',
  already_paid: 'Ce paiement a déjà été effectué.',
  withdrawn: 'Cette demande de paiement a été retirée et ne peut plus être payée.',
  expired: 'Le délai de paiement est écoulé.',
  sending: 'Un instant…',
  confirm: 'Confirmez le paiement auprès de votre banque.',
  unavailable: 'Ce paiement ne peut pas se faire par carte ici. Payez autrement.',
}

const portuguese: CardTexts = {
  title: 'Pagar com cartão',
  to: 'a {merchant}',
  pay: 'Pagar {price}',
  approved: 'Aprovado',
  approvedText: 'O pagamento foi aprovado.',
  declined: 'Recusado',
  declinedText: 'O cartão foi recusado. Não foi cobrado qualquer valor.',
  closed: 'Não é possível pagar',
  again: 'Tentar de novo ou usar outro cartão',
  proceed: 'Continuar',
  unknown: 'Formulário desconhecido',
  unknownText: 'Este formulário de cartão não existe. Volte e abra-o de novo.',
  already_paid: 'Este pagamento já foi efetuado.',
  withdrawn: 'Este pagamento já não está disponível e não pode ser efetuado.',
  expired: 'O prazo de pagamento terminou.',
  sending: 'Um momento…',
  confirm: 'Confirme o pagamento junto do seu banco.',
  unavailable: 'Este pagamento não pode ser feito com cartão aqui. Pague de outra forma.',
}

const brazilian: CardTexts = {
  ...portuguese,
  to: 'para {merchant}',
  declinedText: 'O cartão foi recusado. Nenhum valor foi cobrado.',
  withdrawn: 'Este pagamento não está mais disponível e não pode ser feito.',
  already_paid: 'Este pagamento já foi feito.',
  confirm: 'Confirme o pagamento com o seu banco.',
}

/** What is filled in is isolated (U+2068, U+2069), so that an amount or a Latin name keeps its own direction. */
const ar: CardTexts = {
  title: 'ادفع بالبطاقة',
  to: 'إلى \u2068{merchant}\u2069',
  pay: 'ادفع \u2068{price}\u2069',
  approved: 'تمت الموافقة',
  approvedText: 'تمت الموافقة على عملية الدفع.',
  declined: 'تم الرفض',
  declinedText: 'رُفضت البطاقة. لم يُخصم أي مبلغ.',
  closed: 'لا يمكن الدفع',
  again: 'حاول مرة أخرى أو استخدم بطاقة أخرى',
  proceed: 'متابعة',
  unknown: 'نموذج غير معروف',
  unknownText: 'نموذج البطاقة هذا غير موجود. ارجع وافتحه من جديد.',
  already_paid: 'طلب الدفع هذا مدفوع بالفعل.',
  withdrawn: 'أُغلق طلب الدفع هذا ولم يعد دفعه ممكنًا.',
  expired: 'انتهت مهلة الدفع.',
  sending: 'لحظة من فضلك…',
  confirm: 'أكّد عملية الدفع لدى البنك.',
  unavailable: 'لا يمكن إجراء عملية الدفع هذه بالبطاقة هنا. ادفع بطريقة أخرى.',
}

/** The texts of each language. */
export const cardTexts: Readonly<Record<Language, CardTexts>> = {
  en,
  es,
  fr,
  'pt-PT': portuguese,
  'pt-BR': brazilian,
  ar,
}
